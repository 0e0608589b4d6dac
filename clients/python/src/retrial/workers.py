"""Has a checker decide cases: one after the other, or several at once, in threads or as coroutines."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import Any, Protocol, cast

from .answer import Answer
from .case import Case
from .definition import Checker

#: A case with its id.
Asked = tuple[int, Case]


class Workers(Protocol):
    """Decides cases. Safe for concurrent use."""

    def decide(self, cases: Iterable[Asked]) -> Iterator[Answer | None]:
        """Gives the answers as they come; None where a while has passed without one."""
        ...

    def close(self) -> None:
        """Lets go of what it holds, and waits for nobody."""
        ...


def workers(checker: Checker[Any], count: int, patience: float) -> Workers:
    """Makes workers that decide at most count cases at once; patience is in seconds."""
    if count < 1:
        raise ValueError("there must be at least one worker")
    if checker.is_async:
        return _Coroutines(checker, count, patience)
    return _Inline(checker) if count == 1 else _Threads(checker, count, patience)


def _call(checker: Checker[Any], case_id: int, case: Case) -> Answer:
    try:
        return Answer(case_id, case, checker(case), None)
    except BaseException as e:  # noqa: BLE001 - not even sys.exit() in a checker may end more than its case
        return Answer(case_id, case, None, e)


class _Inline:
    """Decides in the thread that asks."""

    def __init__(self, checker: Checker[Any]) -> None:
        self._checker = checker

    def decide(self, cases: Iterable[Asked]) -> Iterator[Answer | None]:
        return (_call(self._checker, case_id, case) for case_id, case in cases)

    def close(self) -> None:
        pass


class _Threads:
    """Decides in a pool of threads, which all streams share."""

    def __init__(self, checker: Checker[Any], count: int, patience: float) -> None:
        self._checker = checker
        self._patience = patience
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="retrial-case")

    def decide(self, cases: Iterable[Asked]) -> Iterator[Answer | None]:
        return _gather((self._pool.submit(_call, self._checker, *asked) for asked in cases), self._patience)

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


class _Coroutines:
    """Decides in one event loop, which all streams share."""

    def __init__(self, checker: Checker[Any], count: int, patience: float) -> None:
        self._checker = checker
        self._patience = patience
        self._loop = asyncio.new_event_loop()
        self._free = asyncio.Semaphore(count)
        threading.Thread(target=self._run, name="retrial-loop", daemon=True).start()

    def _run(self) -> None:
        self._loop.run_forever()
        self._loop.close()

    def decide(self, cases: Iterable[Asked]) -> Iterator[Answer | None]:
        return _gather((asyncio.run_coroutine_threadsafe(self._call(*asked), self._loop) for asked in cases), self._patience)

    async def _call(self, case_id: int, case: Case) -> Answer:
        async with self._free:
            try:
                return Answer(case_id, case, await cast(Awaitable[object], self._checker(case)), None)
            except BaseException as e:  # noqa: BLE001 - as above
                return Answer(case_id, case, None, e)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)


def _gather(futures: Iterable["Future[Answer]"], patience: float) -> Iterator[Answer | None]:
    """Gives the results as they come. What is not begun when nobody asks any more never is."""
    done: SimpleQueue[Future[Answer]] = SimpleQueue()
    put: Callable[[Future[Answer]], None] = done.put
    waiting = list(futures)
    try:
        for future in waiting:
            future.add_done_callback(put)
        for _ in range(len(waiting)):
            while True:
                try:
                    yield done.get(timeout=patience).result()
                    break
                except Empty:
                    yield None
    finally:
        for future in waiting:
            future.cancel()
