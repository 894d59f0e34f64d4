package permissions_test

import (
	"fmt"
	"strings"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// permissionSelection is the selection that several methods share.
type permissionSelection struct {
	kind      permissionKind
	namespace string
	selectors selectedBy
	filter    string // the name to filter by, or empty
	related   *kubeconnectv1.Relation
	owner     permissionKind
	strict    bool // require_all_namespaces
	latest    bool
}

func (s permissionSelection) String() string {
	text := fmt.Sprintf("%s in %q, labels %q, fields %q", s.kind.Resource, s.namespace, s.selectors.label, s.selectors.field)
	if s.filter != "" {
		text += ", filter for " + s.filter
	}
	if s.related != nil {
		text += fmt.Sprintf(", %s %s %s/%s", s.related.Type, s.related.Resource, s.related.Namespace, s.related.Name)
	}
	if s.strict {
		text += ", all namespaces required"
	}
	if s.latest {
		text += ", latest"
	}
	return text
}

func (s permissionSelection) consistency() kubeconnectv1.Consistency {
	if s.latest {
		return kubeconnectv1.Consistency_CONSISTENCY_LATEST
	}
	return kubeconnectv1.Consistency_CONSISTENCY_CACHED
}

func (s permissionSelection) expression() string {
	if s.filter == "" {
		return ""
	}
	return fmt.Sprintf("object.metadata.name == %q", s.filter)
}

// selection chooses a selection. Requests over all namespaces mostly select the label of the
// stage's own objects, because there may be many others.
func (a *permissionAsker) selection() permissionSelection {
	s := permissionSelection{kind: a.kind()}
	if s.kind.namespaced && a.rnd.IntN(2) == 0 {
		s.namespace = pick(a.rnd, a.stage.namespaces)
	}
	s.selectors.label = pick(a.rnd, []string{"", "color=red", "color in (red,green)", "!color", "color!=blue"})
	if s.namespace == "" && s.kind.Resource != "namespaces" && a.rnd.IntN(5) > 0 {
		s.selectors.label = ownLabel + "=" + a.stage.label + strings.TrimPrefix(","+s.selectors.label, ",,")
		s.selectors.label = strings.TrimSuffix(s.selectors.label, ",")
	}
	s.selectors.field = a.fieldSelector(s.kind)
	if a.rnd.IntN(6) == 0 {
		s.filter = pick(a.rnd, s.kind.names)
	}
	s.strict, s.latest = a.rnd.IntN(8) == 0, a.rnd.IntN(5) == 0
	return s
}

func (a *permissionAsker) fieldSelector(kind permissionKind) string {
	name := pick(a.rnd, kind.names)
	selectors := []string{"", "", "metadata.name=" + name, "metadata.name=" + name, "metadata.name!=" + name, "metadata.name=" + name + ",metadata.name=" + pick(a.rnd, kind.names)}
	if kind.namespaced {
		namespace := pick(a.rnd, a.stage.namespaces)
		selectors = append(selectors, "metadata.namespace="+namespace, "metadata.namespace!="+namespace, "metadata.name="+name+",metadata.namespace="+namespace)
	}
	return pick(a.rnd, selectors)
}

// relate restricts a selection to objects related to another object.
func (a *permissionAsker) relate(s *permissionSelection) {
	s.owner = pick(a.rnd, a.stage.kinds)
	s.related = &kubeconnectv1.Relation{
		Type:     pick(a.rnd, []kubeconnectv1.RelationType{kubeconnectv1.RelationType_RELATION_TYPE_OWNED_BY, kubeconnectv1.RelationType_RELATION_TYPE_OWNER_OF}),
		Resource: nameOf(s.owner), Name: pick(a.rnd, s.owner.names),
	}
	if s.owner.namespaced {
		s.related.Namespace = pick(a.rnd, a.stage.namespaces)
	}
}

// nameOf returns the resource in kubectl's syntax.
func nameOf(kind permissionKind) string {
	return strings.TrimSuffix(kind.Resource+"."+kind.Group, ".")
}
