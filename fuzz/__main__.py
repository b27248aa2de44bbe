"""``python -m fuzz [--seconds S] [--seed N] [--case DECODER:NUMBER]``; exit code 1 if there are defects."""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import time
from pathlib import Path

from fuzz.campaign import Campaign

OUT = Path("out/fuzz")


def main() -> int:
    """Run a campaign, or one case again."""
    parser = argparse.ArgumentParser(
        prog="python -m fuzz", description="Mutated files against every decoder."
    )
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("FUZZ_SECONDS") or 300))
    parser.add_argument(
        "--seed", type=int, default=int(os.environ.get("FUZZ_SEED") or random.SystemRandom().randrange(10**6))
    )
    parser.add_argument("--case", metavar="DECODER:NUMBER", help="make and read this case only")
    options = parser.parse_args()
    campaign = Campaign(options.seed, OUT, tell=lambda line: print(line, flush=True))
    print(f"FUZZ_SEED={options.seed} FUZZ_SECONDS={options.seconds:g}", flush=True)
    began = time.monotonic()
    if options.case:
        name, _, number = options.case.partition(":")
        found = campaign.one(name, int(number))
        print(found["is"], f"{found.get('seconds', 0.0):.3f} s", found.get("text", ""), sep="\n")
        campaign._stop()
    else:
        campaign.run(options.seconds)
    shutil.rmtree(campaign._folder, ignore_errors=True)
    for name, tally in campaign.tallies.items():
        total = tally.accepted + tally.refused + tally.defects
        print(
            f"{name:12} {total:8} cases {tally.accepted:8} accepted {tally.refused:8} refused {tally.defects:6} defects"
            f"   slowest {tally.slowest:.2f} s"
        )
    cases = sum(t.accepted + t.refused + t.defects for t in campaign.tallies.values())
    print(f"{cases} cases in {time.monotonic() - began:.0f} s, {campaign.peak_MB:.0f} MB at most; ", end="")
    print(f"{len(campaign.defects)} kinds of defects" if campaign.defects else "no defect")
    return 1 if campaign.defects else 0


if __name__ == "__main__":
    sys.exit(main())
