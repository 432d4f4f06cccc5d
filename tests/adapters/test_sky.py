"""The sky: HEALPix pixels as a hierarchy, coverage maps read by mocpy, multi-order maps read by astropy."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zonal as zn
from shell import zonal
from web.server_process import serving
from zonal.simulation import from_table

healpix = pytest.importorskip("healpix")
KERNEL = zn.RBF(1.0, 0.4)


def campaign(order: int = 2, budget: int = 25, **settings: object) -> tuple[zn.Study, int]:
    """Return a finished search for a bright patch, and the number of the brightest pixel."""
    sky = zn.Hierarchy.healpix(order)
    brightness = np.exp(-((sky.features - [0.48, 0.6, 0.64]) ** 2).sum(axis=1) / 0.4)
    table = from_table(sky, brightness[sky.place])
    given = {"kernel": zn.RBF(0.1, 0.6), "noise": 0.02, "value_name": "brightness", "value_unit": "K"}
    study = zn.Study(sky, budget=budget, **(given | settings))  # type: ignore[arg-type]
    study.optimize(table.simulate(0.02, 0))
    region: Any = table.best().region
    return study, int(region.members[0])


def test_pixels_of_the_sky_lie_where_the_healpix_package_says_and_within_their_parents() -> None:
    sky = zn.Hierarchy.healpix(3, "galactic")
    assert sky.frame == "galactic"
    for pixel in (0, 297, 767):
        region = sky.region(f"3/{pixel}")
        assert region.center == pytest.approx(healpix.pix2vec(8, pixel, nest=True))
        assert healpix.vec2pix(1, *region.center, nest=True) == int(region.name.split("/")[1].split()[0])
    assert [sky.partition.count(depth) for depth in range(5)] == [1, 12, 48, 192, 768]
    assert sky.region("1/18").weight == 16


def test_a_part_of_the_sky_has_only_its_pixels() -> None:
    part = zn.Hierarchy.healpix(9, pixels=range(5000, 5064))
    assert part.size == 64
    assert part.region("6/78").weight == 56
    with pytest.raises(zn.InvalidInput, match="twice"):
        zn.Hierarchy.healpix(1, pixels=[1, 1])
    with pytest.raises(zn.InvalidInput, match=r"pixels=.*part of the sky"):
        zn.Hierarchy.healpix(12)
    with pytest.raises(zn.InvalidInput, match="a pixel"):
        zn.Hierarchy.healpix(1, pixels=[48])
    with pytest.raises(zn.InvalidInput, match="frame"):
        zn.Hierarchy.healpix(1, "horizon")


def test_a_sky_in_a_file_keeps_its_frame(tmp_path: Path) -> None:
    sky = zn.Hierarchy.healpix(1, "galactic")
    zn.Study.create(tmp_path / "sky.db", sky, budget=5)
    assert zn.Study.open(tmp_path / "sky.db").space == sky
    assert sky != zn.Hierarchy.healpix(1)


def test_what_is_not_installed_is_named_with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    study, _ = campaign(1, 2)
    for name in ("healpix", "mocpy", "astropy.table"):
        monkeypatch.setitem(sys.modules, name, None)
    for call in (lambda: zn.Hierarchy.healpix(1), study.to_moc, study.to_skymap):
        with pytest.raises(zn.InvalidInput, match=r"not installed.*zonal\[sky\]"):
            call()


def test_a_coverage_map_has_the_best_pixel_and_mocpy_reads_it_back(tmp_path: Path) -> None:
    mocpy = pytest.importorskip("mocpy")
    study, best = campaign()
    small, large = study.to_moc(0.5), study.to_moc(0.99)
    small.save(tmp_path / "best.fits", format="fits")
    assert mocpy.MOC.load(tmp_path / "best.fits", format="fits") == small
    assert best in large.flatten().tolist()
    assert 0 < small.sky_fraction <= large.sky_fraction < 0.25
    assert large.union(small) == large


def test_a_coverage_map_contains_the_best_pixel_as_often_as_it_says() -> None:
    pytest.importorskip("mocpy")
    sky = zn.Hierarchy.healpix(1)
    apart = ((sky.features[:, None] - sky.features[None]) ** 2).sum(axis=-1)
    root = np.linalg.cholesky(np.exp(-apart / 2 / 0.4**2) + 1e-9 * np.eye(sky.size))
    runs, hits = 40, 0
    for run in range(runs):
        truth = root @ np.random.default_rng(run).normal(size=sky.size)
        study = zn.Study(sky, budget=8, kernel=KERNEL, noise=0.3)
        study.optimize(from_table(sky, truth[sky.place]).simulate(0.3, run))
        pixel = int(sky.paths[truth.argmax()][-1].removeprefix("1/"))
        hits += pixel in study.to_moc(0.8).flatten().tolist()
    assert 24 <= hits <= 39  # 32 are expected; 24 or fewer, or 39 or more, come once in 400 times


def test_a_sky_map_is_opened_again_by_astropy_and_sums_to_one_best_pixel(tmp_path: Path) -> None:
    fits, tables = pytest.importorskip("astropy.io.fits"), pytest.importorskip("astropy.table")
    from astropy import units

    study, best = campaign()
    study.to_skymap().write(tmp_path / "map.fits")
    with fits.open(tmp_path / "map.fits") as file:
        header = file[1].header
        assert [header[key] for key in ("PIXTYPE", "ORDERING", "COORDSYS")] == ["HEALPIX", "NUNIQ", "C"]
    table = tables.QTable.read(tmp_path / "map.fits")
    order, pixel = 2, np.asarray(table["UNIQ"]) - 4**3
    assert sorted(pixel) == list(range(12 * 4**order))
    area = 4 * np.pi * units.sr / len(table)
    assert (table["PROBDENSITY"] * area).sum().to_value(units.one) == pytest.approx(1)
    assert pixel[table["PROBDENSITY"].argmax()] == best
    mean, std = study.predict([f"2/{number}" for number in pixel])
    assert table["MEAN"].to_value(units.mK) == pytest.approx(1000 * mean)
    assert table["STD"].to_value(units.K) == pytest.approx(std)


def test_mocpy_cuts_nearly_the_same_set_out_of_the_sky_map(tmp_path: Path) -> None:
    mocpy = pytest.importorskip("mocpy")
    study, _ = campaign(budget=6, noise=0.2)
    study.to_skymap().write(tmp_path / "map.fits")
    whole = {"cumul_from": 0.0, "cumul_to": 0.9, "strict": False}
    theirs = mocpy.MOC.from_multiordermap_fits_file(tmp_path / "map.fits", **whole)
    ours, pixel = study.to_moc(0.9), 1 / (12 * 4**2)
    assert ours.sky_fraction > 20 * pixel
    # Ours is larger: it is not counted by the draws that put the pixels in order.
    assert 0.8 * ours.sky_fraction < theirs.sky_fraction <= ours.sky_fraction
    assert ours.intersection(theirs).sky_fraction > 0.8 * theirs.sky_fraction


def test_forbidden_pixels_are_in_no_map() -> None:
    pytest.importorskip("mocpy")
    free, best = campaign()
    study, _ = campaign(forbidden=[f"2/{best}"])
    assert best in free.to_moc().flatten().tolist()
    assert best not in study.to_moc(0.999).flatten().tolist()


def test_a_minimum_is_where_the_average_is_low() -> None:
    pytest.importorskip("mocpy")
    study, best = campaign(direction="minimize", mean=1.0)
    assert best not in study.to_moc().flatten().tolist()


def test_a_map_of_something_else_is_refused() -> None:
    study = zn.Study([(0, 1)], budget=5)
    with pytest.raises(zn.InvalidInput, match=r"HEALPix.*zn\.Hierarchy\.healpix"):
        study.to_moc()
    galactic = zn.Study(zn.Hierarchy.healpix(0, "galactic"), budget=5)
    with pytest.raises(zn.InvalidInput, match="ICRS"):
        galactic.to_moc()
    assert galactic.to_skymap().meta["COORDSYS"] == "G"
    with pytest.raises(zn.InvalidInput, match="without a model"):
        zn.Study(
            zn.Hierarchy.healpix(0), budget=5, kernel=KERNEL, noise=0.1, policy=zn.StoOO(zn.GeometricDelta(1, 0.5))
        ).to_skymap()


def test_too_many_pixels_that_may_be_the_best_are_refused() -> None:
    study = zn.Study(zn.Hierarchy.healpix(4), budget=5, kernel=KERNEL, noise=0.1)
    with pytest.raises(zn.InvalidInput, match="at most 2048 regions"):
        study.to_moc()


def test_directions_of_pixels_are_sky_coordinates_of_astropy() -> None:
    coordinates = pytest.importorskip("astropy.coordinates")
    region = zn.Hierarchy.healpix(3).region("3/297")
    place = coordinates.SkyCoord(*region.center, representation_type="cartesian", frame="icrs").spherical
    lon, lat = healpix.pix2ang(8, 297, nest=True, lonlat=True)
    assert (place.lon.deg, place.lat.deg) == pytest.approx((lon % 360, lat))


def test_the_shell_writes_maps_that_other_programs_open(tmp_path: Path) -> None:
    mocpy, tables = pytest.importorskip("mocpy"), pytest.importorskip("astropy.table")
    study, _ = campaign(budget=6, noise=0.2)
    study.save(tmp_path / "sky.db")
    where, table = tmp_path / "best.fits", tmp_path / "map.fits"
    zonal("export", tmp_path / "sky.db", "--format", "moc", "--probability", 0.5, "--out", where)
    zonal("export", tmp_path / "sky.db", "--format", "skymap", "--out", table)
    assert mocpy.MOC.load(where, format="fits") == study.to_moc(0.5)
    mean = study.to_skymap()["MEAN"].value
    assert tables.QTable.read(table)["MEAN"].value == pytest.approx(mean)
    assert "Name a file with --out" in zonal("export", tmp_path / "sky.db", "--format", "moc", code=1).output
    assert "for --format moc" in zonal("export", tmp_path / "sky.db", "--probability", 0.5, code=2).output


def test_the_service_answers_with_maps(tmp_path: Path) -> None:
    mocpy, tables = pytest.importorskip("mocpy"), pytest.importorskip("astropy.table")
    study, _ = campaign(budget=6, noise=0.2)
    study.save(tmp_path / "sky.db")
    with serving(tmp_path) as server:
        for name, query in (("moc.fits", "?probability=0.5"), ("skymap.fits", "")):
            answer = server.get(f"/api/v1/studies/sky/export/{name}{query}")
            assert answer.headers["content-type"] == "application/fits"
            (tmp_path / name).write_bytes(answer.content)
        refused = server.get("/api/v1/studies/sky/export/map.nc")
    assert mocpy.MOC.load(tmp_path / "moc.fits", format="fits") == study.to_moc(0.5)
    assert len(tables.QTable.read(tmp_path / "skymap.fits")) == 192
    assert refused.status == 422
