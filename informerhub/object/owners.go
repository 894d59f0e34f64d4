package object

import "k8s.io/apimachinery/pkg/runtime/schema"

// Owner is one of an object's metadata.ownerReferences. An owner is in the namespace of the owned
// object, or is cluster-scoped.
type Owner struct {
	APIVersion, Kind, Name, UID string
	// Controller reports whether the owner manages the object. An object has one such owner at most.
	Controller bool
}

// GroupKind returns the owner's kind without its version.
func (o Owner) GroupKind() schema.GroupKind {
	return schema.FromAPIVersionAndKind(o.APIVersion, o.Kind).GroupKind()
}

// Numbers of the fields that are read, as defined by k8s.io/apimachinery.
const (
	metaOwnerReferences = 13 // metav1.ObjectMeta

	ownerKind       = 1 // metav1.OwnerReference
	ownerName       = 3
	ownerUID        = 4
	ownerAPIVersion = 5
	ownerController = 6
)

// Owners returns the object's owners. Their strings may point into the object.
func (o *Object) Owners() []Owner {
	var owners []Owner
	o.eachOwner(func(owner Owner) { owners = append(owners, owner) })
	return owners
}

// Controller returns the owner that manages the object, if it has one. Its strings may point into
// the object.
func (o *Object) Controller() (controller Owner, ok bool) {
	o.eachOwner(func(owner Owner) {
		if owner.Controller && !ok {
			controller, ok = owner, true
		}
	})
	return controller, ok
}

// eachOwner calls visit for each owner, in order.
func (o *Object) eachOwner(visit func(Owner)) {
	switch o.format {
	case formatProtobuf:
		eachProtobufOwner(o.raw, visit)
	case formatJSON:
		eachJSONOwner(o.raw, visit)
	}
}

func eachProtobufOwner(message []byte, visit func(Owner)) {
	metadata, _ := protobufPath(message, objectMetadata)
	_ = eachField(metadata.bytes, func(f field) bool {
		if f.number == metaOwnerReferences {
			visit(readProtobufOwner(f.bytes))
		}
		return true
	})
}

func readProtobufOwner(message []byte) Owner {
	var owner Owner
	_ = eachField(message, func(f field) bool {
		switch f.number {
		case ownerKind:
			owner.Kind = view(f.bytes)
		case ownerName:
			owner.Name = view(f.bytes)
		case ownerUID:
			owner.UID = view(f.bytes)
		case ownerAPIVersion:
			owner.APIVersion = view(f.bytes)
		case ownerController:
			owner.Controller = f.varint != 0
		}
		return true
	})
	return owner
}

func eachJSONOwner(text []byte, visit func(Owner)) {
	references := jsonMember(jsonMember(text, "metadata"), "ownerReferences")
	_ = eachElement(references, func(reference []byte) { visit(readJSONOwner(reference)) })
}

func readJSONOwner(text []byte) Owner {
	var owner Owner
	_ = eachMember(text, func(m member) bool {
		switch m.key {
		case "kind":
			owner.Kind = jsonString(m.value)
		case "name":
			owner.Name = jsonString(m.value)
		case "uid":
			owner.UID = jsonString(m.value)
		case "apiVersion":
			owner.APIVersion = jsonString(m.value)
		case "controller":
			owner.Controller = string(m.value) == "true"
		}
		return true
	})
	return owner
}

// OwnerField is the name of the field by which objects are selected by owner. It has a value for
// each owner. Field selectors cannot name it.
const OwnerField = "metadata.ownerReferences.uid"

// OwnerUIDs reads the field [OwnerField].
var OwnerUIDs = FieldReader{
	Has: func(object *Object, uid string) (owned bool) {
		object.eachOwner(func(owner Owner) { owned = owned || owner.UID == uid })
		return owned
	},
	Values: func(object *Object) (uids []string) {
		object.eachOwner(func(owner Owner) {
			if owner.UID != "" {
				uids = append(uids, owner.UID)
			}
		})
		return uids
	},
}
