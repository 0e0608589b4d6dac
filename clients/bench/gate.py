"""A plain release gate: the peer of `retrial run` in part b, as one would write it in an afternoon.

usage: gate.py FIXTURES.jsonl BASELINE_DAYS CANDIDATE_DAYS
"""
import json
import sys


def rule(row, max_age):
    if row["input"]["age_days_at_decision"] > max_age:
        return "dropped", "stale"
    return "promoted", "fresh"


def main(path, baseline, candidate):
    fixtures = unconfirmed = 0
    flips = []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            fixtures += 1
            recorded = row["verdict"], row["reason_code"]
            if rule(row, baseline) != recorded:
                unconfirmed += 1
            now = rule(row, candidate)
            if now != recorded:
                flips.append((row["fixture_id"], recorded, now))
    if unconfirmed or not fixtures:
        print(f"release blocked: {unconfirmed} of {fixtures} fixtures unconfirmed")
        return 3
    for fixture_id, recorded, now in sorted(flips):
        print(f"{fixture_id}: {'/'.join(recorded)} -> {'/'.join(now)}")
    if flips:
        print(f"release blocked: {len(flips)} fixtures flipped")
        return 1
    print(f"pass: {fixtures} fixtures")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
