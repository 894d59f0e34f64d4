package main

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/kubeconnect/kubeconnect/auth"
)

// reviewSettings are what the flags say about the questions that the cluster is asked about callers.
type reviewSettings struct {
	extra              []string
	permissionInterval time.Duration
	tokenInterval      time.Duration
}

const (
	// minReviewInterval is how long the cluster's answers are used in any case.
	minReviewInterval = 10 * time.Second
	// maxReviewInterval bounds how late a change has effect that cannot be watched.
	maxReviewInterval = 5 * time.Minute
)

func (s *reviewSettings) addFlags(flags *pflag.FlagSet) {
	flags.StringSliceVar(&s.extra, "authorizer-extra", nil, "a `key` of a user's extra that an authorizer of the cluster looks at, such as a webhook, of those in which the API server says which credential was used: authentication.kubernetes.io/credential-id, pod-name, pod-uid, node-name and node-uid; repeat it, or separate several by commas. RBAC looks at none of them. Without the flag, callers who differ in nothing else share the cluster's answers about permissions, as the pods of a DaemonSet do. All other keys always count")
	flags.DurationVar(&s.permissionInterval, "permission-review-interval", minReviewInterval, "how `long` the cluster's answer about a permission is used, 10s to 5m, while the service follows RBAC and sees no change of it. Give 5m where Node and RBAC are the only authorizers of the cluster: another one, such as a webhook, can change its mind without RBAC, and that is noticed after this time only")
	flags.DurationVar(&s.tokenInterval, "token-review-interval", 5*time.Minute, "how `long` the cluster is not asked again about a service account's token, 10s to 5m, while the service watches the token's service account and pod, and the issuer's keys that the API server publishes: a token that is bound to something else, or whose pod or service account the service may not watch, is asked about every 10s. 10s is that for all tokens, and watches nothing")
}

func (s reviewSettings) check() error {
	for _, key := range s.extra {
		if !auth.IsCredentialExtra(key) {
			return fmt.Errorf("--authorizer-extra %q: give authentication.kubernetes.io/ and credential-id, pod-name, pod-uid, node-name or node-uid; all other keys always count", key)
		}
	}
	if err := checkReviewInterval("--permission-review-interval", s.permissionInterval); err != nil {
		return err
	}
	return checkReviewInterval("--token-review-interval", s.tokenInterval)
}

func checkReviewInterval(flag string, interval time.Duration) error {
	if interval < minReviewInterval || interval > maxReviewInterval {
		return fmt.Errorf("%s %s: give %s to %s", flag, interval, minReviewInterval, maxReviewInterval)
	}
	return nil
}

// followedTTL is how long answers are used while what they depend on is followed; 0 if nothing is to be
// followed.
func followedTTL(interval time.Duration) time.Duration {
	if interval == minReviewInterval {
		return 0
	}
	return interval
}
