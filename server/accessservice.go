package server

import (
	"context"
	"strings"

	"golang.org/x/sync/errgroup"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/auth"
	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/edge/gate"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
	"github.com/kubeconnect/kubeconnect/server/target"
)

const (
	// maxChecks bounds the checks of one CheckAccess call. Each check counts as a call.
	// maxConcurrentReviews bounds the checks of one call that are reviewed at one time.
	maxChecks            = 100
	maxConcurrentReviews = 10
)

// accessService implements kubeconnect.v1.AccessService.
type accessService struct {
	targets     *target.Resolver
	clients     *auth.ClientFactory
	permissions access.Permissions
	callers     *gate.Callers
}

// WhoAmI implements kubeconnect.v1.AccessService.
func (a *accessService) WhoAmI(ctx context.Context, _ *kubeconnectv1.WhoAmIRequest) (*kubeconnectv1.WhoAmIResponse, error) {
	identity := call.IdentityFrom(ctx)
	if identity.IsKubeconfigUser() {
		return a.kubeconfigUser(ctx)
	}
	response := &kubeconnectv1.WhoAmIResponse{Username: identity.Username, Uid: identity.UID, Groups: identity.Groups}
	response.Extra = extraValues(identity.Extra)
	return response, nil
}

// kubeconfigUser returns the kubeconfig's user, which only the cluster knows.
func (a *accessService) kubeconfigUser(ctx context.Context) (*kubeconnectv1.WhoAmIResponse, error) {
	reviews := a.clients.ForService().Typed.AuthenticationV1().SelfSubjectReviews()
	review, err := reviews.Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return nil, apierror.Unavailable(ctx, err)
	}
	user := review.Status.UserInfo
	response := &kubeconnectv1.WhoAmIResponse{Username: user.Username, Uid: user.UID, Groups: user.Groups}
	response.Extra = extraValues(user.Extra)
	return response, nil
}

func extraValues[Values ~[]string](extra map[string]Values) map[string]*kubeconnectv1.ExtraValue {
	if len(extra) == 0 {
		return nil
	}
	values := make(map[string]*kubeconnectv1.ExtraValue, len(extra))
	for name, list := range extra {
		values[name] = &kubeconnectv1.ExtraValue{Values: list}
	}
	return values
}

// CheckAccess implements kubeconnect.v1.AccessService.
func (a *accessService) CheckAccess(ctx context.Context, request *kubeconnectv1.CheckAccessRequest) (*kubeconnectv1.CheckAccessResponse, error) {
	checks := request.GetChecks()
	if len(checks) > maxChecks {
		return nil, apierror.BadRequest("too many checks: %d; give at most %d in one call", len(checks), maxChecks)
	}
	if err := a.callers.Charge(call.CallerKey(call.IdentityFrom(ctx)), len(checks)-1); err != nil {
		return nil, err
	}
	decisions := make([]*kubeconnectv1.AccessDecision, len(checks))
	group, reviewCtx := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrentReviews)
	for i, check := range checks {
		group.Go(func() (err error) {
			decisions[i], err = a.decide(reviewCtx, call.IdentityFrom(ctx), check)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return &kubeconnectv1.CheckAccessResponse{Decisions: decisions}, nil
}

func (a *accessService) decide(ctx context.Context, identity auth.Identity, check *kubeconnectv1.AccessCheck) (*kubeconnectv1.AccessDecision, error) {
	attributes, err := a.attributes(ctx, check)
	if err != nil {
		return nil, err
	}
	decision, err := a.permissions.Decide(ctx, identity, attributes)
	return &kubeconnectv1.AccessDecision{Allowed: decision.Allowed && err == nil, Reason: decision.Reason}, err
}

// attributes returns the attributes of a check for the authorizer.
func (a *accessService) attributes(ctx context.Context, check *kubeconnectv1.AccessCheck) (auth.Attributes, error) {
	return target.OnResource(ctx, a.targets, check.GetResource(), func(resource informerhub.Resource) (auth.Attributes, error) {
		return auth.Attributes{
			Verb:        check.GetVerb(),
			Group:       resource.Group,
			Version:     resource.Version,
			Resource:    resource.Name,
			Subresource: check.GetSubresource(),
			Namespace:   access.RequestNamespace(resource, check.GetVerb(), check.GetNamespace(), check.GetName()),
			Name:        check.GetName(),
		}, validateCheck(resource, check)
	})
}

func validateCheck(resource informerhub.Resource, check *kubeconnectv1.AccessCheck) error {
	switch verb := check.GetVerb(); {
	case verb == "":
		return apierror.BadRequest("verb is required, such as \"get\" or \"list\"")
	case verb == "*" || strings.ToLower(verb) != verb:
		return apierror.BadRequest("invalid verb %q: give one verb in lower case, such as \"get\" or \"list\"", verb)
	case !resource.Namespaced && check.GetNamespace() != "":
		return target.NewScopeError(apierror.BadRequest("%s have no namespaces: leave the namespace out", resource.Name))
	}
	return nil
}
