"""Pools of sequences as FASTA: what Zonal writes Biopython reads, and what either writes Zonal reads."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import zonal as zn
from shell import answer, zonal
from zonal.io.fasta import fasta_rows, fasta_text
from zonal.io.tables import read_table


def dna(folder: Path) -> Path:
    path = folder / "pools.db"
    zn.Study.create(path, zn.Sequences("ACGT", 8), budget=24, noise=0.1)
    return path


def test_pools_go_out_and_come_back(tmp_path: Path) -> None:
    path, sheet = dna(tmp_path), tmp_path / "order.fasta"
    zonal("ask", path, "-n", "3", "--csv", sheet)
    regions = [trial.region.name for trial in zn.Study.open(path).pending]
    assert read_table(sheet).texts("region") == regions
    text = sheet.read_text(encoding="utf-8")
    for number in range(3):
        text = text.replace(
            f"trial={number}", f'trial={number} value=0.{number} sem=0.02 note="by hand, {number}"'
        )
    sheet.write_text(text, encoding="utf-8")
    zonal("tell", path, "--csv", sheet)
    assert [trial.value for trial in zn.Study.open(path).trials] == [0.0, 0.1, 0.2]
    out = tmp_path / "told.fa"
    zonal("export", path, "--out", out)
    other = tmp_path / "other.db"
    zn.Study.create(other, zn.Sequences("ACGT", 8), budget=24, noise=0.1)
    zonal("observe", other, "--csv", out)
    seen = zn.Study.open(other).observations
    assert [(own.region.name, own.value, own.sem, own.note) for own in seen] == [
        (name, number / 10, 0.02, f"by hand, {number}") for number, name in enumerate(regions)
    ]


def test_biopython_reads_what_is_written_and_writes_what_is_read(tmp_path: Path) -> None:
    pytest.importorskip("Bio")
    from Bio import SeqIO
    from Bio.Seq import Seq
    from Bio.SeqRecord import SeqRecord

    path, sheet = dna(tmp_path), tmp_path / "order.fna"
    zonal("ask", path, "-n", "5", "--csv", sheet)
    with sheet.open(encoding="utf-8") as file:
        records = list(SeqIO.parse(file, "fasta"))  # type: ignore[no-untyped-call]
    assert [str(own.seq) for own in records] == [own.region.name for own in zn.Study.open(path).pending]
    pools = ["ATNNNNNN", "RYKMSWBD", "acgtnnnn"]
    with (tmp_path / "in.fa").open("w", encoding="utf-8") as file:
        SeqIO.write([SeqRecord(Seq(pool), id=f"p{at}") for at, pool in enumerate(pools)], file, "fasta")
    predicted = answer("predict", path, "--csv", tmp_path / "in.fa")
    assert [row["region"]["name"] for row in predicted] == ["ATNNNNNN", "RYKMSWBD", "ACGTNNNN"]


def test_proteins_have_x_for_any_amino_acid(tmp_path: Path) -> None:
    path, sheet = tmp_path / "peptides.db", tmp_path / "order.faa"
    zn.Study.create(path, zn.Sequences("ACDEFGHIKLMNPQRSTVWY", 4), budget=90, noise=0.1)
    (tmp_path / "in.faa").write_text(">any\nMKX\nX\n>B or Z\nMBZJ\n", encoding="utf-8")
    predicted = answer("predict", path, "--csv", tmp_path / "in.faa")
    assert [row["region"]["name"] for row in predicted] == ["MKXX", "MBZJ"]
    assert zn.Study.open(path).space.region("MBZJ").symbols == (("M",), ("D", "N"), ("E", "Q"), ("I", "L"))
    zonal("ask", path, "-n", "2", "--csv", sheet)
    assert all("X" in name for name in read_table(sheet).texts("region"))


def test_what_has_no_codes_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    for number, space in enumerate([zn.Sequences("XYZ", 3), zn.Box([(0, 1)])]):
        path = tmp_path / f"{number}.db"
        zn.Study.create(path, space, budget=9, noise=0.1)
        assert "IUPAC" in zonal("ask", path, "--csv", tmp_path / "x.fasta", code=1).output
        assert not zn.Study.open(path).pending
    for text in ("ACGT\n", '>a note="x\\q"\nACGT\n', ""):
        (tmp_path / "bad.fa").write_text(text, encoding="utf-8")
        with pytest.raises(zn.InvalidInput):
            read_table(tmp_path / "bad.fa")


@given(
    st.lists(st.tuples(st.text("ACGTN", min_size=1, max_size=200), st.text(min_size=1)), min_size=1, max_size=4)
)
def test_every_cell_comes_back(pools: list[tuple[str, str]]) -> None:
    (_, header), *below = fasta_rows(fasta_text([["region", "note"], *pools]), "x.fa")
    assert header == ["name", "note", "region"]
    assert [(row[2], row[1]) for _, row in below] == pools
