"""An energy counter that a test makes, because most machines have none that may be read."""

import threading
import time

WATTS = 40


class FakePackage:
    """A processor that draws WATTS, as Linux counts it: a file that is written every 2 ms and wraps
    each second or so. ATTUNE_POWERCAP names its folder, `root`."""

    RANGE_UJ = 50_000_000

    def __init__(self, root):
        self.root = root
        zone = root / "intel-rapl:0"
        zone.mkdir(parents=True)
        (zone / "name").write_text("package-0\n")
        (zone / "max_energy_range_uj").write_text(f"{self.RANGE_UJ}\n")
        self.energy = zone / "energy_uj"
        self.begin = time.monotonic()
        self.count()
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def count(self):
        joules = WATTS * (time.monotonic() - self.begin)
        new = self.energy.with_suffix(".new")
        new.write_text(f"{int(joules * 1e6) % self.RANGE_UJ}\n")
        new.rename(self.energy)

    def run(self):
        while not self.stop.wait(0.002):
            self.count()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()
