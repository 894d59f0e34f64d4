"""A fake service for tests of programs that use the client.

::

    from kubeconnect.testing import AnyObject, FakeService


    def test_counts_the_pods_that_are_ready() -> None:
        with FakeService(objects=[POD]) as service:
            assert ready_pods(service.client()) == 1

See FakeService for what the fake does, and what it refuses. ``AnyObject`` is the type of the
objects that a test gives it.
"""

from kubeconnect.testing._service import AnyObject, FakeService

__all__ = ["AnyObject", "FakeService"]

FakeService.__module__ = __name__
