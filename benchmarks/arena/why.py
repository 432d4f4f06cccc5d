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
    "sparse": (
        "The default learns one noise for all sizes and has no posterior over sparse vectors. Region sensing is "
        "given the height of the signal and the noise."
    ),
    "one signal": "As above: a sparse signal is no draw of a Gaussian process, and one noise is learned.",
    "3 signals": "As above: a sparse signal is no draw of a Gaussian process, and one noise is learned.",
    "privacy": (
        "One noise is learned for all sizes, which is wrong here; who passes `noise=`, as it is published, or "
        "`noise=zn.PerWeight()`, gets the gain."
    ),
    "smooth draw, privacy": "As above: one noise is learned for all sizes.",
    "rough draw, privacy": "As above: one noise is learned for all sizes.",
    "f1": "Three hills of nearly the same height: the guard's rounds are lost here, and few runs were played.",
    "f2": "One narrow spike, easily missed by the first sweep.",
}
