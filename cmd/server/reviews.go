package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/kubeconnect/kubeconnect/auth"
)

// reviewSettings are what the flags say about the questions that the cluster is asked about callers.
type reviewSettings struct {
	extra []string
}

func (s *reviewSettings) addFlags(flags *pflag.FlagSet) {
	flags.StringSliceVar(&s.extra, "authorizer-extra", nil, "a `key` of a user's extra that an authorizer of the cluster looks at, such as a webhook, of those in which the API server says which credential was used: authentication.kubernetes.io/credential-id, pod-name, pod-uid, node-name and node-uid; repeat it, or separate several by commas. RBAC looks at none of them. Without the flag, callers who differ in nothing else share the cluster's answers about permissions, as the pods of a DaemonSet do. All other keys always count")
}

func (s reviewSettings) check() error {
	for _, key := range s.extra {
		if !auth.IsCredentialExtra(key) {
			return fmt.Errorf("--authorizer-extra %q: give authentication.kubernetes.io/ and credential-id, pod-name, pod-uid, node-name or node-uid; all other keys always count", key)
		}
	}
	return nil
}
