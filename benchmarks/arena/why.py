"""Why Zonal loses where it does, by problem or group: the only words of the page that a person writes per result.

The page prints an entry only where the numbers show a loss, and says so where a loss has no entry yet.
"""

WHY: dict[str, str] = {  # of a key of `problems.GROUPS` or `problems.CASES`
    "dna": "The best pools differ by less than the noise, and motifs read backwards are strangers to the default.",
    "noise": (
        "The default is told nothing and must learn the law of the noise first, most of its prior weight on one "
        "noise for all sizes; who passes `noise=zn.PerWeight()`, or its size too, gains from the beginning."
    ),
    "smooth draw, falling noise": "As above: the law of the noise is learned.",
    "rough draw, falling noise": "As above: the law of the noise is learned.",
    "sparse": (
        "The default learns the law of the noise and has no posterior over sparse vectors. Region sensing is "
        "given the height of the signal and the noise."
    ),
    "one signal": "As above: a sparse signal is no draw of a Gaussian process.",
    "3 signals": "As above: a sparse signal is no draw of a Gaussian process.",
    "privacy": (
        "Noise added for privacy falls as one over the size, which is none of the laws learned; who passes "
        "`noise=`, as it is published, or `noise=zn.PerWeight()`, gains."
    ),
    "smooth draw, privacy": "As above: the law of the noise is learned.",
    "rough draw, privacy": "As above: the law of the noise is learned.",
    "f1": "Three hills of nearly the same height: the guard's rounds are lost here, and few runs were played.",
    "f2": "One narrow spike, easily missed by the first sweep.",
}
