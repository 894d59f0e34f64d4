package scopes

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"

	"github.com/kubeconnect/kubeconnect/informerhub/discovery"
	"github.com/kubeconnect/kubeconnect/informerhub/object"
	"github.com/kubeconnect/kubeconnect/internal/startup"
)

const (
	// minPeriod is the shortest time after which decisions are looked at again, and periodOfNamespace what each namespace
	// adds at least.
	minPeriod         = 8 * time.Second
	periodOfNamespace = 300 * time.Millisecond
	// recheckPause is the time between a denial and the look at all decisions.
	recheckPause = time.Second
	// decisionTimeout bounds the time for one decision. Those who wait for it may give up before.
	decisionTimeout = 30 * time.Second
	// maxReviews bounds the concurrent reviews.
	maxReviews = 8
)

// Options limit the namespaces that are read. The zero value is no limit.
type Options struct {
	// Namespaces are names, and patterns as of [path.Match], of the only namespaces that are read. Empty is all.
	Namespaces []string
	// Selector selects the only namespaces that are read, by their labels; nil is all. It requires the permission to list
	// namespaces.
	Selector labels.Selector
	// Own is a namespace that is looked at if the service may not list namespaces, such as that of the kubeconfig's context.
	Own string
}

// isLimited reports whether the options name namespaces.
func (o Options) isLimited() bool { return len(o.Namespaces) > 0 || o.Selector != nil }

// matches reports whether the options include the name of a namespace.
func (o Options) matches(name string) bool {
	return len(o.Namespaces) == 0 || slices.ContainsFunc(o.Namespaces, func(pattern string) bool {
		matched, _ := path.Match(pattern, name) // a malformed pattern matches nothing
		return matched
	})
}

func isPattern(name string) bool { return strings.ContainsAny(name, `*?[\`) }

// Scopes are the decisions for one cluster. Its methods are safe for concurrent use.
type Scopes struct {
	// Set once.
	client  kubernetes.Interface
	host    string // of the API server, for errors
	options Options
	startup *startup.Guard
	recheck chan struct{} // has an element when decisions must be looked at now

	mu        sync.Mutex // guards the fields below; nothing is requested while it is held
	asked     *asked     // for first decisions
	decisions map[object.Resource]*decision
	changed   chan struct{} // closed and replaced when a decision has changed
}

// decision is what is read of a resource. Its fields are guarded by Scopes.mu.
type decision struct {
	made  chan struct{} // closed when the first attempt has ended
	known bool
	names []string // in order; nil is the whole resource, and empty nothing
	err   error    // of the first attempt, unless known
	// denied reports that the API server has denied what was decided. From then on each namespace is reviewed alone: an
	// authorizer that denies can precede the one whose rules are known.
	denied bool
}

// New returns the decisions for the user of a client of the API server at a host.
func New(client kubernetes.Interface, host string, options Options) *Scopes {
	return &Scopes{
		client: client, host: host, options: options, startup: startup.New(client.AuthorizationV1().RESTClient()),
		recheck: make(chan struct{}, 1), decisions: make(map[object.Resource]*decision), changed: make(chan struct{}),
	}
}

// Namespaces implements informerhub.Scopes. The first call for a resource asks the API server, for all that wait for it.
func (s *Scopes) Namespaces(ctx context.Context, resource object.Resource) ([]string, error) {
	s.mu.Lock()
	found := s.decisions[resource]
	if found == nil {
		found = &decision{made: make(chan struct{})}
		s.decisions[resource] = found
		go s.decideFirst(ctx, resource, found)
	}
	s.mu.Unlock()
	select {
	case <-found.made:
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for what the service may list of %s: %w", resource, context.Cause(ctx))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !found.known {
		return nil, found.err
	}
	return found.names, nil
}

// decideFirst makes the first decision for a resource. If it fails, the next call begins another attempt. The context is that of
// the first caller, whose end does not end the attempt: others wait for it too.
func (s *Scopes) decideFirst(ctx context.Context, resource object.Resource, into *decision) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), decisionTimeout)
	defer cancel()
	names, err := s.decide(ctx, resource, s.askedNow(), lastDecision{})
	s.mu.Lock()
	defer s.mu.Unlock()
	defer close(into.made)
	if err != nil {
		into.err = err
		delete(s.decisions, resource)
		return
	}
	into.names, into.known = names, true
	if names != nil {
		slog.Debug("cached in some namespaces", "resource", resource.String(), "namespaces", len(names))
	}
}

// Denied implements informerhub.Scopes.
func (s *Scopes) Denied(resource object.Resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if of := s.decisions[resource]; of != nil && of.known && (of.names == nil || len(of.names) > 0) {
		of.denied = true
		select {
		case s.recheck <- struct{}{}:
		default:
		}
	}
}

// Changed implements informerhub.Scopes.
func (s *Scopes) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// Run looks at the decisions again until the context ends. It blocks until then.
func (s *Scopes) Run(ctx context.Context) {
	period := minPeriod
	for {
		timer := time.NewTimer(period)
		select {
		case <-timer.C:
		case <-s.recheck:
			timer.Stop()
			pause(ctx, recheckPause) // permissions that change together are looked at once
		case <-ctx.Done():
			timer.Stop()
			return
		}
		period = max(minPeriod, time.Duration(s.reviewAll(ctx))*periodOfNamespace)
	}
}

func pause(ctx context.Context, duration time.Duration) {
	select {
	case <-time.After(duration):
	case <-ctx.Done():
	}
}

// reviewAll decides again about each resource. It returns the number of namespaces that it looked at.
func (s *Scopes) reviewAll(ctx context.Context) (namespaces int) {
	trusting, distrusting := s.askAgain(), newAsked(s, true)
	for resource, last := range s.toReview() {
		asked := trusting
		if last.denied {
			asked = distrusting
		}
		resourceCtx, cancel := context.WithTimeout(ctx, decisionTimeout)
		names, err := s.decide(resourceCtx, resource, asked, last)
		cancel()
		if err != nil {
			slog.Debug("what the service may list cannot be reviewed", "resource", resource.String(), "error", err)
			continue // the last decision holds
		}
		s.record(resource, names)
	}
	return max(trusting.count(), distrusting.count())
}

// askedNow returns the answers that first decisions share for minPeriod.
func (s *Scopes) askedNow() *asked {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked == nil || time.Since(s.asked.began) >= minPeriod {
		s.asked = newAsked(s, false)
	}
	return s.asked
}

// askAgain returns answers of which none is known yet. First decisions share them from now on.
func (s *Scopes) askAgain() *asked {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = newAsked(s, false)
	return s.asked
}

// lastDecision is what is known of a decision that is made again. Zero is a first decision.
type lastDecision struct {
	made   bool
	whole  bool // the resource is read as a whole
	denied bool
}

// toReview returns the resources to decide about again.
func (s *Scopes) toReview() map[object.Resource]lastDecision {
	s.mu.Lock()
	defer s.mu.Unlock()
	resources := make(map[object.Resource]lastDecision)
	for resource, of := range s.decisions {
		if of.known {
			resources[resource] = lastDecision{made: true, whole: of.names == nil, denied: of.denied}
		}
	}
	return resources
}

// record records a decision, and announces it if it is another one.
func (s *Scopes) record(resource object.Resource, names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.decisions[resource]
	if (of.names == nil) == (names == nil) && slices.Equal(of.names, names) {
		return
	}
	of.names = names
	if names == nil {
		slog.Info("cached in all namespaces from now on", "resource", resource.String())
	} else {
		slog.Info("cached in other namespaces from now on", "resource", resource.String(), "namespaces", len(names))
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// decide asks the API server what may be read of a resource. If it is asked again, rules come first, of which one review is about
// all resources.
func (s *Scopes) decide(ctx context.Context, resource object.Resource, asked *asked, last lastDecision) ([]string, error) {
	whole, err := s.allowsWhole(ctx, resource, asked, last)
	limited := resource.Namespaced && s.options.isLimited()
	switch {
	case err != nil:
		return nil, err
	case whole && !limited:
		return nil, nil
	case !resource.Namespaced:
		return []string{}, nil
	}
	candidates, err := asked.candidates(ctx)
	if err != nil || whole {
		return candidates, err
	}
	return s.allowedIn(ctx, resource, candidates, asked)
}

// allowsWhole reports whether the service may list and watch a resource in all namespaces. An open watch does not notice that
// the service has lost the permission: the API server authorizes it only when it begins.
func (s *Scopes) allowsWhole(ctx context.Context, resource object.Resource, asked *asked, last lastDecision) (bool, error) {
	if last.made && !asked.exact {
		rules, err := asked.rulesIn(ctx, nowhere)
		switch {
		case err != nil:
			return false, err
		case rules == nil || rules.Incomplete || areAllowed(rules.ResourceRules, resource) != last.whole:
			// An API server that starts has no rules yet: a change is reviewed.
		default:
			return last.whole, nil
		}
	}
	return s.allows(ctx, resource, "")
}

// nowhere cannot be the name of a namespace: the rules there are those for all namespaces.
const nowhere = "-"

// allowedIn returns the namespaces in which a resource may be read.
func (s *Scopes) allowedIn(ctx context.Context, resource object.Resource, candidates []string, asked *asked) ([]string, error) {
	allowed := make([]bool, len(candidates))
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(maxReviews)
	for i, name := range candidates {
		all.Go(func() (err error) {
			allowed[i], err = asked.allowsIn(ctx, resource, name)
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	names := []string{}
	for i, name := range candidates {
		if allowed[i] {
			names = append(names, name)
		}
	}
	return names, nil
}

// allows reports whether the service may list and watch a resource in a namespace, or in all if that is empty.
func (s *Scopes) allows(ctx context.Context, resource object.Resource, namespace string) (bool, error) {
	for _, verb := range []string{"list", "watch"} {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: verb, Group: resource.Group, Version: resource.Version, Resource: resource.Name, Namespace: namespace,
			},
		}}
		var allowed bool
		err := s.startup.Ask(ctx, func(ctx context.Context) (denied bool, err error) {
			answer, err := s.client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
			if err == nil {
				allowed = answer.Status.Allowed
			}
			return !allowed, err
		})
		switch {
		case isWithoutReviews(err):
			return true, nil
		case err != nil:
			return false, s.unavailable(ctx, err)
		case !allowed:
			return false, nil
		}
	}
	return true, nil
}

// User returns the name of the user that the client is for the API server; empty if that is unknown.
func (s *Scopes) User(ctx context.Context) string {
	review, err := s.client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return "" // an API server without this review, for example
	}
	return review.Status.UserInfo.Username
}

// isWithoutReviews reports whether an API server does not offer the reviews, or does not allow them.
func isWithoutReviews(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apierrors.IsMethodNotSupported(err)
}

func (s *Scopes) unavailable(ctx context.Context, err error) error {
	return discovery.UnavailableAt(ctx, s.host, err)
}

// asked are the answers of the API server to one look at the decisions. It is safe for concurrent use.
type asked struct {
	scopes *Scopes
	began  time.Time
	exact  bool // rules are not enough

	listing    sync.Mutex // held while namespaces are listed
	namespaces []string   // the candidates; nil before they were listed

	mu    sync.Mutex // guards rules
	rules map[string]*authorizationv1.SubjectRulesReviewStatus
}

func newAsked(s *Scopes, exact bool) *asked {
	return &asked{scopes: s, began: time.Now(), exact: exact, rules: make(map[string]*authorizationv1.SubjectRulesReviewStatus)}
}

// count returns the number of candidates.
func (a *asked) count() int {
	a.listing.Lock()
	defer a.listing.Unlock()
	return len(a.namespaces)
}

// candidates returns the namespaces that may be read as far as the options say, in order.
func (a *asked) candidates(ctx context.Context) ([]string, error) {
	a.listing.Lock()
	defer a.listing.Unlock()
	if a.namespaces != nil {
		return a.namespaces, nil
	}
	options := metav1.ListOptions{ResourceVersion: "0"}
	if a.scopes.options.Selector != nil {
		options.LabelSelector = a.scopes.options.Selector.String()
	}
	names := map[string]bool{}
	list, err := a.scopes.client.CoreV1().Namespaces().List(ctx, options)
	switch {
	case apierrors.IsForbidden(err) && a.scopes.options.Selector != nil:
		// Without the labels nothing is selected.
	case apierrors.IsForbidden(err):
		for _, name := range append(slices.Clone(a.scopes.options.Namespaces), a.scopes.options.Own) {
			names[name] = name != "" && !isPattern(name) && a.scopes.options.matches(name)
		}
	case err != nil:
		return nil, a.scopes.unavailable(ctx, err)
	}
	if err == nil {
		for i := range list.Items {
			names[list.Items[i].Name] = a.scopes.options.matches(list.Items[i].Name)
		}
	}
	maps.DeleteFunc(names, func(_ string, matches bool) bool { return !matches })
	a.namespaces = append([]string{}, slices.Sorted(maps.Keys(names))...)
	return a.namespaces, nil
}

// allowsIn reports whether the service may list and watch a resource in a namespace.
func (a *asked) allowsIn(ctx context.Context, resource object.Resource, namespace string) (bool, error) {
	if a.exact {
		return a.scopes.allows(ctx, resource, namespace)
	}
	rules, err := a.rulesIn(ctx, namespace)
	switch {
	case err != nil:
		return false, err
	case rules == nil:
		return a.scopes.allows(ctx, resource, namespace)
	case areAllowed(rules.ResourceRules, resource):
		return true, nil
	case !rules.Incomplete:
		return false, nil
	}
	return a.scopes.allows(ctx, resource, namespace)
}

// rulesIn returns the rules for the service in a namespace; nil if the API server has no such review.
func (a *asked) rulesIn(ctx context.Context, namespace string) (*authorizationv1.SubjectRulesReviewStatus, error) {
	a.mu.Lock()
	rules, known := a.rules[namespace]
	a.mu.Unlock()
	if known {
		return rules, nil
	}
	review := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace}}
	answer, err := a.scopes.client.AuthorizationV1().SelfSubjectRulesReviews().Create(ctx, review, metav1.CreateOptions{})
	switch {
	case isWithoutReviews(err):
	case err != nil:
		return nil, a.scopes.unavailable(ctx, err)
	default:
		rules = &answer.Status
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.rules[namespace] = rules
	return rules, nil
}

// areAllowed reports whether rules allow to list and watch all objects of a resource.
func areAllowed(rules []authorizationv1.ResourceRule, resource object.Resource) bool {
	for _, verb := range []string{"list", "watch"} {
		if !slices.ContainsFunc(rules, func(rule authorizationv1.ResourceRule) bool {
			return len(rule.ResourceNames) == 0 && includes(rule.Verbs, verb) && includes(rule.APIGroups, resource.Group) &&
				includes(rule.Resources, resource.Name)
		}) {
			return false
		}
	}
	return true
}

func includes(allowed []string, value string) bool {
	return slices.Contains(allowed, "*") || slices.Contains(allowed, value)
}
