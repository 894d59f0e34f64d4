package bounds

import (
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
)

// maxNamespaceLength and maxNameLength bound the names in requests: reviews and requests to the API
// server contain them. They are above the longest names that the API server accepts.
const maxNamespaceLength, maxNameLength = 253, 1024

// maxNames are the fields of requests that are such names, with their maximum lengths.
var maxNames = map[protoreflect.Name]int{
	"namespace": maxNamespaceLength, "name": maxNameLength, "pod": maxNameLength, "container": maxNameLength,
	"resource": maxNameLength, "subresource": maxNameLength, "verb": maxNameLength,
}

// CheckLength rejects a name that is too long for its field, such as a namespace.
func CheckLength(field, value string) error {
	if text := tooLong(protoreflect.Name(field), value); text != "" {
		return apierror.BadRequest("%s", text)
	}
	return nil
}

func tooLong(field protoreflect.Name, value string) string {
	if limit, ok := maxNames[field]; ok && len(value) > limit {
		return fmt.Sprintf("%s has %d bytes: give at most %d", field, len(value), limit)
	}
	return ""
}

// checkNames rejects a request with names that are too long, in itself or in the messages of its
// fields. Manifests have no such fields.
func checkNames(message protoreflect.Message) (err error) {
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.IsList() && field.Message() != nil:
			for i := 0; i < value.List().Len() && err == nil; i++ {
				err = checkNames(value.List().Get(i).Message())
			}
		case field.IsList(), field.IsMap():
		case field.Kind() == protoreflect.StringKind:
			if text := tooLong(field.Name(), value.String()); text != "" {
				err = &InvalidRequestError{text}
			}
		case field.Message() != nil && field.Message().FullName().Parent() == message.Descriptor().FullName().Parent():
			err = checkNames(value.Message())
		}
		return err == nil
	})
	return err
}
