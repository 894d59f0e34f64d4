package validate

import (
	"fmt"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// PageRecording is all that one client received of pages of a sorted selection: in calls that each
// resume from the client's page at that time, with the same or another range.
type PageRecording struct {
	Recording
	// Order is the order of the selection.
	Order Order
	// Ranges holds the range of each call.
	Ranges []PageRange
	// Resumed is the client's page before the first call, if that has a token.
	Resumed Page
	// Pages holds the client's page after each response, by call.
	Pages [][]Page
}

// PageRange is the part of a sorted selection that a call follows.
type PageRange struct {
	// Limit is the maximum number of objects.
	Limit int32
	// Offset is the number of objects before the page, if After is nil.
	Offset int64
	// After is the object before the page.
	After *Key
}

func (r PageRange) String() string {
	if r.After != nil {
		return fmt.Sprintf("%d after %s", r.Limit, r.After)
	}
	return fmt.Sprintf("%d from %d", r.Limit, r.Offset)
}

// Set sets the range of a request.
func (r PageRange) Set(request *kubeconnectv1.WatchRequest) {
	request.Limit, request.Offset, request.After = r.Limit, r.Offset, nil
	if r.After != nil {
		request.Offset, request.After = 0, &kubeconnectv1.ObjectName{Namespace: r.After.Namespace, Name: r.After.Name}
	}
}
