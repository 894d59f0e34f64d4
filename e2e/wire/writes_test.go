package wire_test

import "slices"

var writes = family{"writes", "Changes of objects.", slices.Concat(
	byEach("a creation, tried", "ResourceService/Create", `{"resource":"configmaps","namespace":"wire","name":"tried","struct":{"data":{"a":"1"}},"dryRun":true}`),
	byEach("an update, tried", "ResourceService/Update", `{"resource":"configmaps","namespace":"wire","name":"one","struct":{"data":{"a":"1"}},"dryRun":true}`),
	byEach("a patch, tried", "ResourceService/Patch", `{"resource":"configmaps","namespace":"wire","name":"one","type":"PATCH_TYPE_MERGE","value":{"data":{"a":"1"}},"dryRun":true}`),
	byEach("an apply, tried", "ResourceService/Patch", `{"resource":"configmaps","namespace":"wire","name":"one","type":"PATCH_TYPE_APPLY","value":{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"1"}},"fieldManager":"wire","dryRun":true}`),
	byEach("a deletion, tried", "ResourceService/Delete", `{"resource":"configmaps","namespace":"wire","name":"one","dryRun":true}`),
	byEach("a deletion of a collection, tried", "ResourceService/DeleteCollection", `{"resource":"configmaps","namespace":"wire","labelSelector":"app=wire","dryRun":true}`),
	[]exchange{
		connectJSON.call("a creation", "ResourceService/Create", `{"resource":"configmaps","namespace":"wire","name":"changed","struct":{"metadata":{"labels":{"app":"changed"}},"data":{"a":"1"}},"fieldManager":"wire"}`),
		connect.call("an update", "ResourceService/Update", `{"resource":"configmaps","namespace":"wire","name":"changed","struct":{"metadata":{"labels":{"app":"changed"}},"data":{"a":"2"}},"encoding":"ENCODING_JSON"}`),
		grpc.call("a patch", "ResourceService/Patch", `{"resource":"configmaps","namespace":"wire","name":"changed","type":"PATCH_TYPE_JSON","value":[{"op":"replace","path":"/data/a","value":"3"}],"encoding":"ENCODING_PROTOBUF"}`),
		grpcWeb.call("an apply", "ResourceService/Patch", `{"resource":"configmaps","namespace":"wire","name":"changed","type":"PATCH_TYPE_APPLY","value":{"apiVersion":"v1","kind":"ConfigMap","data":{"b":"4"}},"fieldManager":"wire"}`),
		connectJSON.call("an apply that creates", "ResourceService/Patch", `{"resource":"configmaps","namespace":"wire","name":"applied","type":"PATCH_TYPE_APPLY","value":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"labels":{"app":"changed"}}},"fieldManager":"wire"}`),
		grpc.call("a deletion", "ResourceService/Delete", `{"resource":"configmaps","namespace":"wire","name":"changed"}`),
		grpc.call("a deletion of a collection", "ResourceService/DeleteCollection", `{"resource":"configmaps","namespace":"wire","labelSelector":"app=changed"}`),
	},
	byEach("an object that exists", "ResourceService/Create", `{"resource":"configmaps","namespace":"wire","name":"one","struct":{}}`),
	byEach("a precondition that fails", "ResourceService/Delete", `{"resource":"configmaps","namespace":"wire","name":"one","preconditions":{"uid":"<uid of two>"}}`),
	byEach("an invalid object", "ResourceService/Create", `{"resource":"configmaps","namespace":"wire","name":"UPPER","struct":{"data":{"not a key":"1"}}}`),
	byEach("an unknown field of an object", "ResourceService/Create", `{"resource":"configmaps","namespace":"wire","name":"tried","struct":{"dat":{}},"fieldValidation":"FIELD_VALIDATION_WARN","dryRun":true}`),
)}
