"""Makes the fixtures, the prompts and the recordings of this example beside this file: `python3 generate.py`.

The answers are made up here, and so are the models: this example is about how recordings reach a checker, and not about what a model
knows.
"""

import hashlib
import json
from pathlib import Path

HERE = Path(__file__).parent
INSTRUCTIONS = "You sort tickets. Answer with JSON: category, and urgent."
# The text, the embedding, and what the model makes of it: a category, and the team if it is urgent.
TICKETS = [
    ("Please send me the invoice for March again.", [0.1, 0.2, 0.97], "invoice", None),
    ("I moved to 12 Mill Lane, where do I change that?", [0.0, 0.3, 0.95], "address", None),
    ("You charged me twice, and my account is now overdrawn!", [0.5, 0.1, 0.86], "invoice", "billing_team"),
    ("WIN A VOUCHER - klick here now", [0.62, 0.78, 0.02], "spam", None),
    ("I cannot log in since this morning and have to submit today.", [0.3, 0.0, 0.95], "access", "access_team"),
    ("My invoice shows the old VAT number.", [0.2, 0.1, 0.97], "invoice", None),
    ("C'est urgent : mon compte est bloqué, que faire ?", [0.2, 0.3, 0.93], "access", "access_team"),
    ("cheap pills cheap pills cheap pills", [0.59, 0.81, 0.01], "spam", None),
    ("The new address is on the delivery, but not on the invoice.", [0.0, 0.1, 0.99], "address", None),
    ("A refund was promised to me three weeks ago. I will call my lawyer.", [0.4, 0.2, 0.89], "invoice", "billing_team"),
]


def canonical(value: object) -> str:
    """As the digest of a recorded value is made."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def written(path: Path, text: str) -> str:
    """Writes a file, and gives its digest."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
    return hashlib.sha256(text.encode()).hexdigest()


def document(value: object) -> str:
    """As a person reviews it."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, indent=2) + "\n"


def main() -> None:
    """Writes everything."""
    fixtures, recordings = [], []

    def record(ticket: str, call: str, model: str, prompt: object, value: object) -> None:
        name = f"{ticket}.{call}"
        suffix, text = ("txt", prompt) if isinstance(prompt, str) else ("json", document(prompt))
        written(HERE / "stubs" / "bodies" / f"{name}.json", document(value))
        recordings.append(
            {
                "id": name,
                "fixture_id": ticket,
                "call": call,
                "body": f"bodies/{name}.json",
                "prompt": f"{name}.{suffix}",
                "body_sha256": hashlib.sha256(canonical(value).encode()).hexdigest(),
                "prompt_sha256": written(HERE / "prompts" / f"{name}.{suffix}", text),
                "model": model,
                "recorded_at": "2026-02-14T09:12:00Z",
                "max_age_days": 0,
                "owner": "support",
            }
        )

    for i, (text, vector, category, team) in enumerate(TICKETS):
        ticket = f"ticket-{i + 1:02}"
        spam = category == "spam"
        outcome = ("automatic", "spam") if spam else ("person", team) if team else ("automatic", category)
        fixtures.append(
            canonical(
                {
                    "fixture_id": ticket,
                    "source_row_id": f"tickets/{i + 1}",
                    "verdict": outcome[0],
                    "reason_code": outcome[1],
                    "decided_at": "2026-02-14T09:12:00Z",
                    "text": text,
                }
            )
        )
        record(ticket, "embedding", "words-1", {"input": text}, vector)
        if spam:
            continue
        asked = {
            "messages": [{"role": "system", "content": INSTRUCTIONS}, {"role": "user", "content": text}],
            "response_format": {"type": "json_object"},
            "temperature": 0,
        }
        record(ticket, "triage", "talk-1", asked, {"category": category, "urgent": team is not None})
        if team:
            record(ticket, "team", "talk-1", f"Which team answers this ticket?\n\n{text}\n", team)
    recordings.sort(key=lambda r: str(r["id"]))
    written(HERE / "fixtures" / "tickets.jsonl", "\n".join(fixtures) + "\n")
    written(HERE / "stubs" / "manifest.json", document({"schema": 1, "recordings": recordings}))


if __name__ == "__main__":
    main()
