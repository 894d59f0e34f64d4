// Package joins finds the objects of other resources that are related to the objects of a page: the
// node of a pod, the pods of a deployment. See kubeconnect.v1.Join.
//
// A [Join] is a request of a caller. Its [Relation] leads from an object of the page, a row, to the
// related objects, which are read from a cache of their resource. A [Page] joins the rows of one
// page, one after the other, and returns the results as fields of their messages.
//
// # Permissions
//
// [Related] has the namespaces in which the caller can list a resource. In other namespaces nothing
// is read: the result says so, and is the same whether or not there are related objects. An owner
// between a row and the related object is read only with the permission for its resource.
//
// # Cost
//
// A row costs the objects that are related to it, and the names that it has at a path, because each
// relation uses an index: a cache finds objects by name and by label. Objects by the names at a path
// have no such index. They are indexed once for a page and a namespace. Of each object a bounded
// number of names is read. A page is full when its rows have cost too much, and is at least one row.
// Loops yield, see fairqueue.
package joins
