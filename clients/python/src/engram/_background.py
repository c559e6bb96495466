"""What this program offers to a memory for as long as it runs: providers of skills, hosted memories."""

from __future__ import annotations

import threading
from typing import Optional, Self


class Background:
    """Runs until it is closed: in the caller's thread by ``run``, or in one of its own beside a ``with`` block,
    which begins once ``run`` has set ``_ready``."""

    def __init__(self, thread: str) -> None:
        self._closed = threading.Event()
        self._ready = threading.Event()
        self._failed: Optional[BaseException] = None
        self._thread: Optional[threading.Thread] = None
        self._thread_name = thread

    def run(self) -> None:
        raise NotImplementedError

    def _background(self) -> None:
        try:
            self.run()
        except BaseException as e:
            self._failed = e
        finally:
            self._ready.set()

    def _join(self) -> None:
        """Waits for the thread of a ``with`` block, if there is another one."""
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._background, daemon=True, name=self._thread_name)
        self._thread.start()
        self._ready.wait()
        if self._failed is not None:
            raise self._failed
        return self
