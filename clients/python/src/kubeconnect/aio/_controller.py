"""A controller."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import nullcontext
from functools import partial
from time import monotonic
from typing import Any, TypeAlias, TypeVar, overload

import grpc

from kubeconnect._concurrency.aio import (
    AsyncMailbox,
    AsyncWorkers,
    invoke,
    is_cancellation,
    stop_on_signals,
)
from kubeconnect._errors import Cancelled, Conflict, KubeconnectError
from kubeconnect._fencing import set_fence
from kubeconnect._kinds import KindMessage
from kubeconnect._leases import LeadershipLost
from kubeconnect._messages import M, resource_name
from kubeconnect._metrics import controller_metrics
from kubeconnect._objects import Object
from kubeconnect._queue_state import BASE_DELAY_SECONDS, MAX_DELAY_SECONDS
from kubeconnect._reconciling import (
    OWNER_INDEX,
    Mapper,
    ObjectKey,
    Requeue,
    key_of,
    owner_key,
    owner_uid,
    requeue_seconds,
    uid_of,
)
from kubeconnect._store_indexes import IndexBy
from kubeconnect._watch_spec import WatchSpec, resource_of
from kubeconnect.aio._client import AsyncClient
from kubeconnect.aio._finalizer import AsyncFinalizer, Finalize
from kubeconnect.aio._leader_elector import AsyncLeaderElector
from kubeconnect.aio._store import AsyncStore
from kubeconnect.aio._work_queue import AsyncWorkQueue

F = TypeVar("F", bound=Callable[[ObjectKey], Awaitable[Requeue] | Requeue])
G = TypeVar("G", bound=Finalize)

Watchable: TypeAlias = str | WatchSpec[Any] | type[KindMessage]
"""The name of a resource, its class, or a selection of its objects."""

SYNC_SECONDS = 120.0
"""The default time that the stores have to receive their first snapshots."""

STOP_SECONDS = 25.0
"""The default time that running reconciles have to end: less than the 30 seconds that
Kubernetes gives a pod by default."""

LEADER_SECONDS = 1.0
"""The delay of a key while it is not certain that this process is the leader."""

JITTER = 0.2
"""The part of the delay of a retry that is random."""

_logger = logging.getLogger("kubeconnect")


class AsyncController:
    """Calls a function for each object of a resource, whenever something changes that concerns
    the object, so that the function can make the cluster as the object specifies::

        controller = AsyncController(client, "crontabs.stable.example.com", owns=["jobs"])

        @controller.reconcile
        async def reconcile(key):
            crontab = controller.store().get(key.namespace, key.name)
            if crontab is None:
                return  # deleted
            jobs = controller.owned("jobs", crontab)
            ...

        await controller.run()

    The function is called with the key of an object, not with what has changed: it reads the
    present state from the stores, which follow the cluster, and never from the API server. It
    is called

    - for each object when the controller starts, and when the object was added, changed or
      deleted;
    - for the controlling owner of a changed object of ``owns``;
    - for the keys that a mapper of ``watches`` returns for a changed object;
    - after the delay that it has returned itself, in seconds or as a timedelta;
    - again if it has raised an exception, after a delay that doubles with each failure.

    It is called for several keys at the same time, by ``workers``, but never twice at the same
    time for one key. Changes that occur meanwhile are combined into one further call. The
    function may be called without need, so that it has to compare before it writes. The stores
    may be older than its own last write: use names that follow from the key, and resource
    versions as preconditions.

    With an ``elector``, only the leader calls the function. If this process stops being the
    leader while a call runs, for instance because the process was suspended, the writes of the
    call raise LeadershipLost. The call's own threads are not covered.

    With prometheus_client installed, the metrics of controller-runtime are in its default
    registry: ``controller_runtime_reconcile_total`` and others, and ``workqueue_depth`` and
    others, with the label "controller".
    """

    def __init__(
        self,
        client: AsyncClient,
        resource: Watchable,
        *,
        namespace: str | None = None,
        owns: Iterable[Watchable] = (),
        watches: Iterable[tuple[Watchable, Mapper]] = (),
        indexes: Mapping[Any, Mapping[str, IndexBy[Any]]] | None = None,
        workers: int = 1,
        elector: AsyncLeaderElector | None = None,
        name: str | None = None,
        base_delay: float = BASE_DELAY_SECONDS,
        max_delay: float = MAX_DELAY_SECONDS,
        sync_timeout: float = SYNC_SECONDS,
        stop_timeout: float = STOP_SECONDS,
    ) -> None:
        """Create a controller, which does nothing before ``run``.

        Resources are named as in kubectl, or are classes of ``kubeconnect.k8s``, whose stores
        have messages; a WatchSpec selects some of their objects. Several selections of one
        resource have a store each, and equal ones share it. ``owns``
        are the resources of objects that the function creates with an owner reference whose
        ``controller`` is true. ``watches`` are further resources, each with a function that
        returns the keys to reconcile, as tuples of namespace and name. ``namespace`` applies
        to all of them except to a WatchSpec; None means all namespaces. All of them are
        watched in one stream.

        ``indexes`` are those of the stores, by resource: see ``AsyncClient.stores``. They are for
        all selections of a resource, unless the key is a WatchSpec. ``elector``
        lets only one process reconcile: the controller acquires leadership when its stores are
        in sync, and closes the elector at the end. ``name`` is the label of the metrics, by
        default the resource.

        ``base_delay`` and ``max_delay`` are the first and the longest delay of a retry, of
        which up to a fifth is left out at random. ``sync_timeout`` is the time for the first
        snapshots, ``math.inf`` for no limit, and ``stop_timeout`` the time that running calls
        have to end. All times are in seconds.

        Raises ValueError for invalid numbers, and for indexes of a resource that the controller
        does not watch.
        """
        if workers < 1:
            raise ValueError(f"workers must be at least 1, not {workers}")
        self._selections = selections = _Selections(namespace)
        self._main = selections.add(resource)
        self._owns = list(dict.fromkeys(map(selections.add, owns)))
        self._watches = [(selections.add(watched), mapper) for watched, mapper in watches]
        self._resource = resource_name(resource_of(selections.specs[self._main]))
        self._name = name or self._resource
        self._worker_count = workers
        self._elector = elector
        self._sync_timeout = sync_timeout
        self._stop_timeout = stop_timeout
        self._metrics = controller_metrics(self._name)
        self._queue: AsyncWorkQueue[ObjectKey] = AsyncWorkQueue(
            base_delay=base_delay,
            max_delay=max_delay,
            jitter=JITTER,
            metrics=self._metrics.queue,
        )
        self._stores = client.stores(
            dict(enumerate(selections.specs)),
            indexes=self._all_indexes(indexes or {}),
            on_error=self._end_with,
        )
        self._client = client
        self._function: Callable[[ObjectKey], Awaitable[Requeue] | Requeue] | None = None
        self._finalizer: AsyncFinalizer | None = None
        self._outcome: AsyncMailbox[BaseException | None] = AsyncMailbox()
        self._starter = AsyncWorkers()
        self._workers = AsyncWorkers()
        self._started = False
        self._stopping = False

    def __repr__(self) -> str:
        """Return the name of the controller."""
        return f"<{type(self).__name__} {self._name}>"

    def reconcile(self, function: F) -> F:
        """Set the function that reconciles a key. Use it as a decorator. Raises RuntimeError if
        there is one already.
        """
        if self._function is not None:
            raise RuntimeError("the controller has a reconcile function already")
        self._function = function
        return function

    def finalize(self, finalizer: str) -> Callable[[G], G]:
        """Set the function that finalizes an object before it is deleted, and the name of the
        finalizer, such as "stable.example.com/registry". Use it as a decorator::

            @controller.finalize("stable.example.com/registry")
            async def finalize(crontab):
                ...

        The finalizer is added to each object before the object is first reconciled. An object
        that is being deleted is not reconciled any more. The function is called with it, again
        if it has raised an exception or returned a delay, and after that the finalizer is
        removed. If the object has changed meanwhile, the function is called again. Raises
        RuntimeError if there is such a function already.

        The caller needs the permission to patch the resource. ``fields`` of a WatchSpec must
        contain "metadata".
        """

        def set_function(function: G) -> G:
            if self._finalizer is not None:
                raise RuntimeError("the controller has a finalize function already")
            self._finalizer = AsyncFinalizer(self._client, self._resource, finalizer, function)
            return function

        return set_function

    @overload
    def store(self, resource: str | WatchSpec | None = None) -> AsyncStore: ...
    @overload
    def store(self, resource: type[M] | WatchSpec[M]) -> AsyncStore[M]: ...
    def store(self, resource: Watchable | None = None) -> AsyncStore[Any]:
        """Return the store of a resource of the controller, as it was named there; by default
        that of the objects that it reconciles. Raises KeyError for any other resource, and for
        one of which there are several selections: pass the WatchSpec.
        """
        if resource is None:
            return self._stores[self._main]
        found = self._selections.of(resource)
        if len(found) > 1:
            name = resource_name(resource_of(self._selections.specs[found[0]]))
            problem = f"the controller has {len(found)} selections of {name}: pass its WatchSpec"
            raise KeyError(problem)
        return self._stores[found[0]]

    @overload
    def owned(self, resource: str | WatchSpec, owner: Object | KindMessage) -> list[Object]: ...
    @overload
    def owned(self, resource: type[M] | WatchSpec[M], owner: Object | KindMessage) -> list[M]: ...
    def owned(self, resource: Watchable, owner: Object | KindMessage) -> list[Any]:
        """Return the objects of a resource of ``owns`` whose controller is this object, from
        the stores of its selections. The UID is compared, so that the objects of an earlier owner
        with the same name are not among them. Raises KeyError for any other resource.
        """
        stores = [self._stores[each] for each in self._selections.of(resource)]
        uid = uid_of(owner)
        found = [obj for store in stores for obj in store.by_index(OWNER_INDEX, uid)]
        return list({key_of(obj): obj for obj in found}.values())

    def enqueue(self, key: tuple[str | None, str], delay: float = 0.0) -> None:
        """Reconcile a key after ``delay`` seconds, for a reason outside of the cluster."""
        self._queue.add_after(ObjectKey(*key), delay)

    @property
    def stopping(self) -> bool:
        """Whether the controller is ending. A function that takes long should return then."""
        return self._stopping

    def stop(self) -> None:
        """End ``run``: no further call begins. May be called from the reconcile function and from
        signal handlers. With threads it may be called by any of them.
        """
        self._end_with(None)

    async def run(self, *, handle_signals: bool = True) -> None:
        """Reconcile until ``stop``, SIGTERM or SIGINT.

        First the stores receive their snapshots, then this process becomes the leader if there
        is an elector, and then the workers start. At the end no further call begins, and those
        that run have ``stop_timeout`` seconds to end. With asyncio they are cancelled then, and
        at once if ``run`` is cancelled or the leadership is lost. After that the elector is
        closed; it does not release its lease while a call still runs.

        Signals are handled if ``run`` is called in the main thread and ``handle_signals`` is True;
        a second signal has its usual effect.

        Raises the error that ended a store, such as Forbidden or NotFound, and Unavailable if
        the service cannot be reached at the beginning; DeadlineExceeded if
        a store is not in sync in ``sync_timeout`` seconds; LeadershipLost; Cancelled if the
        client was closed; and RuntimeError if there is no reconcile function, or if it is
        called again.
        """
        if self._function is None:
            raise RuntimeError("there is no function: decorate one with @controller.reconcile")
        if self._started:
            raise RuntimeError("the controller was run already: create another one")
        self._started = True
        self._metrics.start(self._worker_count, self._queue)
        outcome: BaseException | None
        with stop_on_signals(self.stop) if handle_signals else nullcontext():
            try:
                self._start()
                outcome = await self._outcome.get()
            except BaseException as error:
                outcome = error
            await self._finish(outcome)
        if outcome is not None:
            raise outcome

    def _start(self) -> None:
        self._stores.start()
        self._follow(self._main, lambda obj: (key_of(obj),))
        for selection in self._owns:
            self._follow(selection, self._owner_of)
        for selection, mapper in self._watches:
            self._follow(selection, mapper)
        self._starter.start(f"kubeconnect controller {self._name}", self._begin)

    def _follow(self, selection: int, mapper: Mapper) -> None:
        enqueue = partial(self._enqueue, mapper)
        self._stores[selection].subscribe(
            on_add=enqueue, on_update=partial(self._enqueue_both, mapper), on_delete=enqueue
        )

    def _enqueue(self, mapper: Mapper, obj: Any) -> None:
        for key in mapper(obj):
            self._queue.add(ObjectKey(*key))

    def _enqueue_both(self, mapper: Mapper, old: Any, new: Any) -> None:
        """Enqueue the keys of both states: an object may have changed its owner."""
        try:
            self._enqueue(mapper, old)
        finally:
            self._enqueue(mapper, new)

    def _owner_of(self, obj: Object | KindMessage) -> Iterable[ObjectKey]:
        key = owner_key(obj, self._stores[self._main].resource)
        return () if key is None else (key,)

    async def _begin(self) -> None:
        """Start the workers when the stores are in sync and this process is the leader."""
        try:
            await self._stores.wait_synced(self._sync_timeout)
            if self._elector is not None:
                await self._elector.acquire()
            _logger.info("controller %s: %d workers start", self._name, self._worker_count)
            for number in range(self._worker_count):
                self._workers.start(f"kubeconnect {self._name} {number}", self._work)
            if self._elector is not None:
                self._starter.start(f"kubeconnect leader {self._name}", self._lead)
            await self._stores.wait_closed()
            self._end_with(Cancelled(grpc.StatusCode.CANCELLED, "the client was closed"))
        except BaseException as error:
            self._end_with(error)

    async def _lead(self) -> None:
        """Wait until the leadership is lost, or the elector closed."""
        assert self._elector is not None
        try:
            await self._elector.wait_lost()
        except BaseException as error:
            self._end_with(error)

    async def _work(self) -> None:
        """Reconcile keys until the queue is shut down."""
        if self._elector is not None:
            set_fence(self._elector.check)
        try:
            async for key in self._queue:
                try:
                    await self._take(key)
                finally:
                    self._queue.done(key)
        except BaseException as error:
            self._end_with(error)

    async def _take(self, key: ObjectKey) -> None:
        """Reconcile a key, unless the controller ends.

        A process that was suspended for longer than its lease is no leader any more, and does
        not know it before it has read the lease. The key waits until then.
        """
        if self._stopping:
            return
        if self._elector is not None and not self._elector.is_leader:
            self._queue.add_after(key, LEADER_SECONDS)
            return
        await self._process(key)

    async def _process(self, key: ObjectKey) -> None:
        begin, result = monotonic(), "error"
        self._metrics.begin()
        try:
            delay = await self._call(key)
            self._queue.forget(key)
            result = "success"
            if delay is not None:
                self._queue.add_after(key, delay)
                result = "requeue_after"
        except Exception as error:
            self._retry(key, error)
        finally:
            self._metrics.end(result, monotonic() - begin)

    async def _call(self, key: ObjectKey) -> float | None:
        """Call the function that is due for a key, and return the delay of the next call."""
        assert self._function is not None
        finalizer = self._finalizer
        obj = None if finalizer is None else self.store().get(*key)
        if finalizer is not None and obj is None:
            finalizer.forget(key)
        if finalizer is None or obj is None:
            return requeue_seconds(await invoke(self._function, key))
        if finalizer.is_due(obj):
            return await finalizer.finalize(obj)
        if finalizer.protects(obj):
            return requeue_seconds(await invoke(self._function, key))
        await finalizer.add(obj)
        return None

    def _retry(self, key: ObjectKey, error: Exception) -> None:
        """Log the error, and add the key again. An error of the service needs no traceback, and
        a Conflict is usual: the store was older than the object.
        """
        known = isinstance(error, KubeconnectError)
        delay = error.retry_after_seconds if isinstance(error, KubeconnectError) else None
        _logger.log(
            logging.INFO if isinstance(error, Conflict) else logging.ERROR,
            "controller %s: attempt %d of %s failed: %s",
            *(self._name, self._queue.num_requeues(key) + 1, key),
            f"{type(error).__name__}: {error}",
            exc_info=None if known else error,
        )
        self._queue.add_rate_limited(key, at_least=float(delay or 0))

    def _end_with(self, outcome: BaseException | None) -> None:
        """End ``run``. Workers may take further keys before ``run`` continues."""
        self._stopping = True
        self._outcome.put(outcome)

    async def _finish(self, outcome: BaseException | None) -> None:
        """Begin no further call, wait for those that run, and close all."""
        _logger.info("controller %s ends: %s", self._name, outcome or "it was stopped")
        self._stopping = True
        self._queue.shut_down()
        cancel = is_cancellation(outcome) or isinstance(outcome, LeadershipLost)
        await self._workers.join(self._stop_timeout, cancel=cancel)
        running = self._workers.running
        if running:
            _logger.error("controller %s: %d calls still run", self._name, running)
        if self._elector is not None:
            await self._elector.close(release=not running)
        await self._stores.close()
        await self._starter.join(self._stop_timeout, cancel=cancel)
        if not running:  # workers may have been started meanwhile, which begin no call
            await self._workers.join(self._stop_timeout)
        self._metrics.stop()

    def _all_indexes(
        self, indexes: Mapping[Any, Mapping[str, IndexBy[Any]]]
    ) -> dict[int, dict[str, IndexBy[Any]]]:
        found: dict[int, dict[str, IndexBy[Any]]] = {}
        for resource, each in indexes.items():
            try:
                for selection in self._selections.of(resource):
                    found.setdefault(selection, {}).update(each)
            except KeyError as error:
                raise ValueError(error.args[0]) from None
        for selection in self._owns:
            found.setdefault(selection, {})[OWNER_INDEX] = owner_uid
        return found


class _Selections:
    """The selections of a controller, each of which has a store: numbered, and none twice."""

    def __init__(self, namespace: str | None) -> None:
        self.specs: list[WatchSpec[Any]] = []
        self._namespace = namespace

    def add(self, resource: Watchable) -> int:
        """Add a selection unless there is an equal one, and return its number."""
        spec = self._spec(resource)
        if spec not in self.specs:
            self.specs.append(spec)
        return self.specs.index(spec)

    def of(self, resource: Watchable) -> list[int]:
        """Return the numbers of the selections of a resource, or of one selection. Raises
        KeyError if there is none.
        """
        if isinstance(resource, WatchSpec):
            found = [number for number, each in enumerate(self.specs) if each == resource]
        else:
            name = resource_name(resource)
            names = [resource_name(resource_of(each)) for each in self.specs]
            found = [number for number, each in enumerate(names) if each == name]
        if not found:
            shown = resource if isinstance(resource, WatchSpec) else resource_name(resource)
            raise KeyError(f"the controller has no selection of {shown}")
        return found

    def _spec(self, resource: Watchable) -> WatchSpec[Any]:
        if isinstance(resource, WatchSpec):
            return resource
        spec: WatchSpec[Any] = WatchSpec(resource, namespace=self._namespace)
        return spec
