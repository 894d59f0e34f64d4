"""The calls of a client that change objects."""

from __future__ import annotations

from typing import Literal, overload

from kubeconnect._bodies import ObjectBody, PatchBody, encode_body
from kubeconnect._kinds import KindMessage
from kubeconnect._messages import M, decoder_of, encoding_of, named, resource_name, set_body
from kubeconnect._requests import checked
from kubeconnect._transport.options import deadline
from kubeconnect._writes import (
    CreateResult,
    DeleteCollectionResult,
    DeleteResult,
    FieldValidation,
    FieldValidationLike,
    PatchResult,
    PatchType,
    PatchTypeLike,
    PropagationPolicy,
    PropagationPolicyLike,
    UpdateResult,
)
from kubeconnect.aio._calls import AsyncCalls
from kubeconnect.v1 import write_pb2 as pb
from kubeconnect.v1.object_pb2 import ENCODING_JSON


class AsyncWrites(AsyncCalls):
    """The writes of a client."""

    @overload
    async def create(
        self,
        resource: str,
        object: ObjectBody,
        *,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidationLike = FieldValidation.WARN,
        timeout: float | None = None,
    ) -> CreateResult: ...
    @overload
    async def create(
        self,
        resource: M,
        /,
        *,
        namespace: str | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidationLike = FieldValidation.WARN,
        timeout: float | None = None,
    ) -> CreateResult[M]: ...
    async def create(
        self,
        resource: str | M,
        object: ObjectBody | None = None,
        *,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidationLike = FieldValidation.WARN,
        timeout: float | None = None,
    ) -> CreateResult | CreateResult[M]:
        """Create an object, or a ``subresource`` ("eviction", "token") of the object ``name``.

        ``object`` is a mapping, which is sent as JSON, or JSON or YAML as str or bytes,
        which is sent unchanged. Its kind may be left out. Its name is taken from its
        metadata: ``name`` is for subresources. ``create(Pod(...))`` sends a message of
        ``kubeconnect.k8s``, and the result has a message too.

        Raises AlreadyExists if an object with this name exists. Raises Invalid, with a cause
        for each field, if the object is rejected by validation.
        """
        target, body = named(resource, object)
        request = checked(pb.CreateRequest)(
            resource=resource_name(target),
            namespace=namespace,
            name=name,
            subresource=subresource,
            dry_run=dry_run,
            field_manager=field_manager,
            field_validation=FieldValidation.number_of(field_validation),
            encoding=encoding_of(target),
        )
        set_body(request, body)
        response = await self._transport.write(
            self._transport.resources.Create, request, deadline(timeout, self._timeout)
        )
        return CreateResult.from_message(response, decoder_of(target))

    @overload
    async def update(
        self,
        resource: str,
        object: ObjectBody,
        *,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidationLike = FieldValidation.WARN,
        timeout: float | None = None,
    ) -> UpdateResult: ...
    @overload
    async def update(
        self,
        resource: M,
        /,
        *,
        namespace: str | None = None,
        subresource: Literal["status"] | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidationLike = FieldValidation.WARN,
        timeout: float | None = None,
    ) -> UpdateResult[M]: ...
    async def update(
        self,
        resource: str | M,
        object: ObjectBody | None = None,
        *,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidationLike = FieldValidation.WARN,
        timeout: float | None = None,
    ) -> UpdateResult | UpdateResult[M]:
        """Replace an object, or its ``subresource`` ("status", "scale"), with ``object``.

        ``object`` has the forms accepted by ``create``, and ``update(pod)`` sends a message.
        ``name`` defaults to the name in its metadata. A resource version in its metadata is a
        precondition too.

        Raises Conflict if the object has changed since that version: read it again. Raises
        NotFound if the object does not exist, and Invalid, with a cause for each field, if
        the object is rejected by validation.
        """
        target, body = named(resource, object)
        request = checked(pb.UpdateRequest)(
            resource=resource_name(target),
            namespace=namespace,
            name=name,
            subresource=subresource,
            dry_run=dry_run,
            field_manager=field_manager,
            field_validation=FieldValidation.number_of(field_validation),
            preconditions=pb.Preconditions(uid=uid, resource_version=resource_version),
            encoding=encoding_of(target),
        )
        set_body(request, body)
        response = await self._transport.write(
            self._transport.resources.Update, request, deadline(timeout, self._timeout)
        )
        return UpdateResult.from_message(response, decoder_of(target))

    @overload
    async def patch(
        self,
        resource: str,
        name: str,
        body: PatchBody,
        *,
        type: PatchTypeLike,
        namespace: str | None = None,
        subresource: str | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
        force: bool = False,
        field_validation: FieldValidationLike = FieldValidation.WARN,
        timeout: float | None = None,
    ) -> PatchResult: ...
    @overload
    async def patch(
        self,
        resource: type[M],
        name: str,
        body: PatchBody,
        *,
        type: PatchTypeLike,
        namespace: str | None = None,
        subresource: Literal["status"] | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
        force: bool = False,
        field_validation: FieldValidationLike = FieldValidation.WARN,
        timeout: float | None = None,
    ) -> PatchResult[M]: ...
    async def patch(
        self,
        resource: str | type[M],
        name: str,
        body: PatchBody,
        *,
        type: PatchTypeLike,
        namespace: str | None = None,
        subresource: str | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
        force: bool = False,
        field_validation: FieldValidationLike = FieldValidation.WARN,
        timeout: float | None = None,
    ) -> PatchResult | PatchResult[M]:
        """Change parts of one object, or of its ``subresource`` ("status", "scale").

        ``type`` is the format of ``body``. A mapping or a list is sent as JSON, bytes and
        str are sent unchanged. APPLY needs a ``field_manager``, and a body with an
        ``apiVersion`` and a ``kind``. With ``force`` it takes ownership of fields from other
        managers. The result of ``patch(Pod, …)`` has a message of ``kubeconnect.k8s``.

        Raises Conflict if a precondition fails, or, with a cause for each field, if other
        managers own the fields. Raises Invalid, with a cause for each field, if the result
        is rejected by validation.
        """
        request = checked(pb.PatchRequest)(
            resource=resource_name(resource),
            name=name,
            namespace=namespace,
            subresource=subresource,
            type=PatchType.number_of(type),
            data=encode_body(body),
            dry_run=dry_run,
            field_manager=field_manager,
            force=force,
            field_validation=FieldValidation.number_of(field_validation),
            preconditions=pb.Preconditions(uid=uid, resource_version=resource_version),
            encoding=encoding_of(resource),
        )
        response = await self._transport.write(
            self._transport.resources.Patch, request, deadline(timeout, self._timeout)
        )
        return PatchResult.from_message(response, decoder_of(resource))

    async def delete(
        self,
        resource: str | type[KindMessage],
        name: str,
        *,
        namespace: str | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        propagation_policy: PropagationPolicyLike | None = None,
        grace_period_seconds: int | None = None,
        dry_run: bool = False,
        timeout: float | None = None,
    ) -> DeleteResult:
        """Delete one object.

        ``propagation_policy`` sets what happens to the objects that it owns; the default is the
        kind's own, usually BACKGROUND. ``grace_period_seconds`` is the time that the object
        has to shut down, 0 for none; the default is the kind's own, 30 seconds for pods.

        Pass the result's ``resource_version`` to a read as ``min_resource_version`` to make
        sure that the read sees the deletion.

        Raises NotFound if the object does not exist, and Conflict if a precondition fails.
        """
        request = checked(pb.DeleteRequest)(
            resource=resource_name(resource),
            name=name,
            namespace=namespace,
            preconditions=pb.Preconditions(uid=uid, resource_version=resource_version),
            propagation_policy=(
                PropagationPolicy.number_of(propagation_policy) if propagation_policy else None
            ),
            grace_period_seconds=grace_period_seconds,
            dry_run=dry_run,
            encoding=ENCODING_JSON,
        )
        response = await self._transport.write(
            self._transport.resources.Delete, request, deadline(timeout, self._timeout)
        )
        return DeleteResult.from_message(response)

    async def delete_collection(
        self,
        resource: str | type[KindMessage],
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        propagation_policy: PropagationPolicyLike | None = None,
        grace_period_seconds: int | None = None,
        dry_run: bool = False,
        timeout: float | None = None,
    ) -> DeleteCollectionResult:
        """Delete the objects that match. Without selectors, all objects of the namespace.

        The other arguments are as in ``delete``. The call is not atomic: some objects may
        have been deleted when it raises.
        """
        request = checked(pb.DeleteCollectionRequest)(
            resource=resource_name(resource),
            namespace=namespace,
            label_selector=label_selector,
            field_selector=field_selector,
            propagation_policy=(
                PropagationPolicy.number_of(propagation_policy) if propagation_policy else None
            ),
            grace_period_seconds=grace_period_seconds,
            dry_run=dry_run,
        )
        response = await self._transport.write(
            self._transport.resources.DeleteCollection, request, deadline(timeout, self._timeout)
        )
        return DeleteCollectionResult.from_message(response)
