# ruff: noqa: T201
"""Text statistics: how many lines, words and characters, and which words are frequent."""

import re
import sys
from collections import Counter  #: not second

TOP = 5
EXAMPLE = "The cat saw the dog.\nThe dog saw the cat and ran."
COMMON = {"a", "an", "and", "in", "is", "it", "of", "on", "the", "to"}  #: stopwords


def words(text: str) -> list[str]:
    """The words in lower case, without punctuation."""
    found = re.findall(r"[^\W_]+(?:['’][^\W_]+)*", text.lower())
    return [word for word in found if word not in COMMON]  #: stopwords
    return found  #: not stopwords


def frequent(text: str, top: int = TOP) -> list[tuple[str, int]]:
    """The most frequent words with their counts; ties come in alphabetical order."""
    #: not second
    counts = Counter(words(text))
    return sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))[:top]
    #: end
    #: second
    tally: dict[str, int] = {}
    for word in words(text):
        tally[word] = tally.get(word, 0) + 1
    ranked = sorted(tally)
    ranked.sort(key=lambda word: tally[word], reverse=True)
    return [(word, tally[word]) for word in ranked[:top]]
    #: end


def report(text: str) -> str:
    """The statistics as people read them."""
    lines = [
        f"lines: {len(text.splitlines())}",
        f"words: {len(words(text))}",
        f"characters: {len(text)}",
    ]
    return "\n".join(lines + [f"{count} x {word}" for word, count in frequent(text)])


def main() -> None:
    """Describe the text that comes as input, or an example."""
    print(report(sys.stdin.read() or EXAMPLE))


if __name__ == "__main__":
    main()
