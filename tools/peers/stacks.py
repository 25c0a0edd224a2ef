"""Writes different folded stacks: python stacks.py NUMBER OUT

A stack has 8 to 23 frames out of 2,000 functions; deeper frames differ more often.
"""

import sys

MASK = (1 << 64) - 1


def scattered(number: int) -> int:
    return (number * 0x2545F4914F6CDD1D & MASK) >> 40


def stack(at: int) -> str:
    depth = 8 + scattered(at) % 16
    frames = (scattered(at % (3 << level) * 31 + level) % 2000 for level in range(depth))
    return ";".join(["main", *(f"module_{frame % 40}::function_{frame}" for frame in frames)])


def main(number: str, out: str) -> None:
    with open(out, "w") as file:
        for at in range(int(number)):
            file.write(f"{stack(at)} {scattered(at) % 90 + 1}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
