"""The calls of a client that apply objects which name themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, overload

from kubeconnect._errors import ApplyError, Cancelled, KubeconnectError
from kubeconnect._kinds import KindMessage
from kubeconnect._leases import LeadershipLost
from kubeconnect._manifests import Manifest, read_yaml
from kubeconnect._messages import M, message_to_dict
from kubeconnect._writes import FieldValidation, FieldValidationLike, PatchResult
from kubeconnect.aio._cluster import AsyncCluster
from kubeconnect.aio._writes import AsyncWrites


class AsyncApply(AsyncWrites, AsyncCluster):
    """Server-side apply without repeating the object's resource, name and namespace."""

    @overload
    async def apply(
        self,
        object: Mapping[str, Any],
        *,
        namespace: str | None = None,
        field_manager: str = "kubeconnect",
        force: bool = False,
        dry_run: bool = False,
        field_validation: FieldValidationLike = FieldValidation.WARN,
        timeout: float | None = None,
    ) -> PatchResult: ...
    @overload
    async def apply(
        self,
        object: M,
        *,
        namespace: str | None = None,
        field_manager: str = "kubeconnect",
        force: bool = False,
        dry_run: bool = False,
        field_validation: FieldValidationLike = FieldValidation.WARN,
        timeout: float | None = None,
    ) -> PatchResult[M]: ...
    async def apply(
        self,
        object: Mapping[str, Any] | M,
        *,
        namespace: str | None = None,
        field_manager: str = "kubeconnect",
        force: bool = False,
        dry_run: bool = False,
        field_validation: FieldValidationLike = FieldValidation.WARN,
        timeout: float | None = None,
    ) -> PatchResult | PatchResult[M]:
        """Create an object, or change it to have these fields (server-side apply).

        The resource is found from the object's ``apiVersion`` and ``kind``, and the name and
        namespace from its metadata. ``namespace`` is for an object without one in its
        metadata; it is ignored if the kind has no namespaces. A message of ``kubeconnect.k8s``
        is applied with the fields that are set in it, also to zero. In a message that was read,
        the API server has set nearly all fields: apply a new message instead.

        ``field_manager`` owns the fields of the object. A field that it applied before and
        that is missing now is removed. Programs that apply different fields of the same
        object need different managers. With ``force`` the manager takes ownership of fields
        from other managers.

        Raises ValueError if the object does not have an ``apiVersion``, a ``kind`` and a
        name, Conflict, with a cause for each field, if other managers own the fields, and
        Invalid if the result is rejected by validation. The API server rejects unknown fields of
        built-in kinds in every apply, whatever ``field_validation`` is.
        """
        cls: type[KindMessage] | None = None
        if isinstance(object, (str, bytes)):
            raise TypeError("apply takes an object: use apply_yaml for a text")
        if not isinstance(object, Mapping):
            cls, object = type(object), message_to_dict(object, zeros=True)
        return await self._apply(
            Manifest.from_object(object),
            cls,
            namespace,
            {},
            field_manager=field_manager,
            force=force,
            dry_run=dry_run,
            field_validation=field_validation,
            timeout=timeout,
        )

    async def apply_yaml(
        self,
        text: str | bytes,
        *,
        namespace: str | None = None,
        field_manager: str = "kubeconnect",
        force: bool = False,
        dry_run: bool = False,
        field_validation: FieldValidationLike = FieldValidation.WARN,
        timeout: float | None = None,
    ) -> list[PatchResult]:
        """Apply the objects of a YAML text, which may have several documents, in order.

        The items of a ``List`` are applied one by one. Empty documents are skipped. The other
        arguments are as in ``apply``; ``timeout`` is for each object. Needs PyYAML, which
        ``pip install 'kubeconnect[yaml]'`` installs.

        Raises ValueError, before anything is applied, if a document is not YAML or not an
        object that names itself. All objects are tried. If some are rejected, ApplyError is
        raised, which has the results and the errors of all of them.
        """
        results: list[PatchResult | KubeconnectError] = []
        known: dict[str, dict[str, bool]] = {}
        for manifest in read_yaml(text):
            try:
                result = await self._apply(
                    manifest,
                    None,
                    namespace,
                    known,
                    field_manager=field_manager,
                    force=force,
                    dry_run=dry_run,
                    field_validation=field_validation,
                    timeout=timeout,
                )
            except (Cancelled, LeadershipLost):
                raise  # as all others would
            except KubeconnectError as error:
                results.append(_named(error, manifest))
            else:
                results.append(result)
        applied = [each for each in results if isinstance(each, PatchResult)]
        if len(applied) < len(results):
            raise ApplyError(results)
        return applied

    async def _apply(
        self,
        manifest: Manifest,
        cls: type[KindMessage] | None,
        namespace: str | None,
        known: dict[str, dict[str, bool]],
        **options: Any,
    ) -> PatchResult[Any]:
        """Apply a manifest. The result has a message if ``cls`` is given. ``known`` is whether the
        kinds of each group have namespaces.
        """
        if namespace and not manifest.namespace:
            if manifest.group not in known:
                known[manifest.group] = await self._scopes(manifest.group, options["timeout"])
            # A kind that is not served yet is defined by an earlier document.
            namespaced = known[manifest.group].get(manifest.kind, True)
            namespace = namespace if namespaced else None
        return await self.patch(
            cls or manifest.resource,
            manifest.name,
            manifest.data,
            type="apply",
            namespace=manifest.namespace or namespace,
            **options,
        )

    async def _scopes(self, group: str, timeout: float | None) -> dict[str, bool]:
        served = await self.resource_types(group=group or "core", timeout=timeout)
        return {each.resource.kind: each.resource.namespaced for each in served.types}


def _named(error: KubeconnectError, manifest: Manifest) -> KubeconnectError:
    """Return the error with a message that names the object."""
    message = f"{manifest}: {error.message}"
    named = type(error)(error.code, message, error.status, request_id=error.request_id)
    named.__cause__ = error
    return named
