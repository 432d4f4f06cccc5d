"""Why Zonal loses where it does, by problem or group: the only words of the page that a person writes per result.

The page prints an entry only where the numbers show a loss, and says so where a loss has no entry yet.
"""

WHY: dict[str, str] = {  # of a key of `problems.GROUPS` or `problems.CASES`
    "dna": "The best pools differ by less than the noise, and motifs read backwards are strangers to the default.",
    "noise": (
        "The default is told nothing of how the noise falls with the size and learns one noise for all sizes, "
        "which is wrong here; who passes `noise=zn.PerWeight()`, or its size too, gets the gain."
    ),
    "smooth draw, falling noise": "As above: one noise is learned for all sizes.",
    "rough draw, falling noise": "As above: one noise is learned for all sizes.",
    "f1": "Three hills of nearly the same height: the guard's rounds are lost here, and few runs were played.",
    "f2": "One narrow spike, easily missed by the first sweep.",
}
