package main

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/kubeconnect/kubeconnect/auth"
)

// reviewSettings are the settings of the reviews of callers.
type reviewSettings struct {
	extra              []string
	permissionInterval time.Duration
	tokenInterval      time.Duration
	grace              time.Duration
}

const (
	// minReviewInterval is how long decisions are cached in any case.
	minReviewInterval = 10 * time.Second
	// maxReviewInterval bounds how late a change that cannot be watched has effect.
	maxReviewInterval = 5 * time.Minute
	// maxPermissionGrace bounds how much later a revocation has effect while the API server gives no
	// decisions.
	maxPermissionGrace = 5 * time.Minute
)

func (s *reviewSettings) addFlags(flags *pflag.FlagSet) {
	flags.DurationVar(&s.tokenInterval, "token-review-interval", 5*time.Minute,
		"how long the review of a service account's token is cached at most; 10s to 5m")
	flags.DurationVar(&s.permissionInterval, "permission-review-interval", minReviewInterval,
		"how long a permission decision is cached at most; 10s to 5m")
	flags.DurationVar(&s.grace, "permission-grace", 0,
		"how much longer the last decision counts while the API server gives no other one; 0s to 5m")
	flags.StringSliceVar(&s.extra, "authorizer-extra", nil,
		"a `key` of a user's extra that an authorizer other than RBAC uses; repeatable")
}

func (s reviewSettings) check() error {
	for _, key := range s.extra {
		if !auth.IsCredentialExtra(key) {
			return fmt.Errorf("--authorizer-extra %q: must be authentication.kubernetes.io/ followed by "+
				"credential-id, pod-name, pod-uid, node-name or node-uid; "+
				"all other keys are always part of reviews", key)
		}
	}
	if s.grace < 0 || s.grace > maxPermissionGrace {
		return fmt.Errorf("--permission-grace %s: must be 0s to %s", s.grace, maxPermissionGrace)
	}
	if err := checkReviewInterval("--permission-review-interval", s.permissionInterval); err != nil {
		return err
	}
	return checkReviewInterval("--token-review-interval", s.tokenInterval)
}

func checkReviewInterval(flag string, interval time.Duration) error {
	if interval < minReviewInterval || interval > maxReviewInterval {
		return fmt.Errorf("%s %s: must be %s to %s", flag, interval, minReviewInterval, maxReviewInterval)
	}
	return nil
}

// followedTTL returns how long decisions are cached while their dependencies are followed; 0 if
// nothing is followed.
func followedTTL(interval time.Duration) time.Duration {
	if interval == minReviewInterval {
		return 0
	}
	return interval
}
