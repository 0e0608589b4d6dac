"""Whether a ticket is answered automatically, or by a person: by what a model says, through the OpenAI SDK as it is.

Nothing in it knows of recordings. It asks at OPENAI_BASE_URL, as every program with this SDK does.
"""

import hashlib
import json
from pathlib import Path

from openai import OpenAI

from retrial import Case, Outcome, Parameter, checker, serve

SPAM = (0.6, 0.8, 0.0)  # what the embedding of the last wave of spam was
FIRST = "You sort tickets. Answer with JSON: category, and urgent."
SECOND = "You sort tickets. Answer with JSON: category, and urgent. A locked account is always urgent."

client = OpenAI()


def _build_digest() -> str:
    """Of this file and of the packages that it runs on."""
    here = Path(__file__)
    return f"sha256:{hashlib.sha256(here.read_bytes() + here.with_name('requirements.lock').read_bytes()).hexdigest()}"


def is_spam(text: str) -> bool:
    """By an embedding."""
    found = client.embeddings.create(model="words-1", input=text).data[0].embedding
    return sum(a * b for a, b in zip(found, SPAM, strict=True)) > 0.95


def triage(text: str, instructions: str) -> tuple[str, bool]:
    """By a chat that answers with a document."""
    answer = client.chat.completions.create(
        model="talk-1",
        temperature=0,
        response_format={"type": "json_object"},
        messages=[{"role": "system", "content": instructions}, {"role": "user", "content": text}],
    )
    document = json.loads(answer.choices[0].message.content or "")
    return document["category"], document["urgent"]


def team(text: str) -> str:
    """By a chat that is streamed."""
    with client.chat.completions.create(
        model="talk-1", stream=True, messages=[{"role": "user", "content": f"Which team answers this ticket?\n\n{text}"}]
    ) as stream:
        return "".join(chunk.choices[0].delta.content or "" for chunk in stream)


@checker(
    name="tickets",
    version="1.0.0",
    parameters=[Parameter("instructions", 1, description="which of its instructions the model gets: 1 or 2")],
    verdicts=["automatic", "person"],
    reason_codes=["spam", "invoice", "address", "billing_team", "access_team"],
    build_digest=_build_digest(),
)
def decide(case: Case) -> Outcome:
    """A model that does not answer ends the case: there is no default."""
    text = case.member(str, "text")
    if is_spam(text):
        return Outcome("automatic", "spam")
    category, urgent = triage(text, FIRST if case.parameters.integer("instructions") == 1 else SECOND)
    if urgent:
        return Outcome("person", team(text))
    return Outcome("automatic", category)


if __name__ == "__main__":
    serve(decide)
