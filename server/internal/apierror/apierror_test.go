package apierror

import (
	"context"
	"errors"
	"io"
	"net/url"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
)

func TestUnavailable_DependsOnTheResponse(t *testing.T) {
	forbidden, invalid := Failure(metav1.StatusReasonForbidden, "no"), errors.New("invalid object")
	from := func(err error) error { return &url.Error{Op: "Post", URL: "https://api.example/apis", Err: err} }
	for name, test := range map[string]struct {
		err    error
		left   bool // the caller has left
		isSame bool // the error is returned, without the URL
		isAway bool // the API server was not reached
	}{
		"a response":                            {err: forbidden, isSame: true},
		"a response to a caller that has left":  {err: forbidden, left: true, isSame: true},
		"a request that was not made":           {err: invalid, isSame: true},
		"a request that a caller did not await": {err: invalid, left: true},
		"no response":                           {err: from(io.EOF), isAway: true},
		"no response before the caller left":    {err: from(io.EOF), left: true},
		"an error of a transport":               {err: from(forbidden), isSame: true},
		"no credential":                         {err: from(auth.ErrUnauthenticated), isSame: true},
		"a cancelled request":                   {err: from(context.Canceled), left: true},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			if test.left {
				leave()
			}
			got := Unavailable(ctx, test.err)
			want := test.err
			if failed := (*url.Error)(nil); errors.As(test.err, &failed) {
				want = failed.Err
			}
			if same := got.Error() == want.Error(); same != test.isSame {
				t.Errorf("got %v", got)
			}
			var away *discovery.UnavailableError
			if errors.As(got, &away) != test.isAway || test.isAway && away.Host != "api.example" {
				t.Errorf("got %v", got)
			}
			if !test.isSame && !test.isAway && !errors.Is(got, context.Canceled) {
				t.Errorf("got %v, want the cause of the caller's context", got)
			}
		})
	}
}
