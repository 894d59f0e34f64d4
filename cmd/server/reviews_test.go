package main

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestReviewSettings_AreReadFromFlags(t *testing.T) {
	none := func(string) (string, bool) { return "", false }
	for args, want := range map[string]reviewSettings{
		"--authorizer-extra authentication.kubernetes.io/pod-uid,authentication.kubernetes.io/node-name": {
			extra:              []string{"authentication.kubernetes.io/pod-uid", "authentication.kubernetes.io/node-name"},
			permissionInterval: 10 * time.Second, tokenInterval: 5 * time.Minute,
		},
		"--permission-review-interval 5m": {permissionInterval: 5 * time.Minute, tokenInterval: 5 * time.Minute},
		"--token-review-interval 4m":      {permissionInterval: 10 * time.Second, tokenInterval: 4 * time.Minute},
		"--permission-grace 5m":           {permissionInterval: 10 * time.Second, tokenInterval: 5 * time.Minute, grace: 5 * time.Minute},
	} {
		t.Run(args, func(t *testing.T) {
			got, err := readSettings(strings.Fields(args), none)
			if err != nil || !reflect.DeepEqual(got.reviews, want) {
				t.Errorf("reads %+v, %v", got.reviews, err)
			}
		})
	}
	for _, args := range []string{
		"--authorizer-extra scopes.example.com",
		"--permission-review-interval 1s", "--permission-review-interval 5m1s",
		"--permission-grace -1s", "--permission-grace 5m1s",
		"--token-review-interval 1s", "--token-review-interval 240h",
	} {
		t.Run(args, func(t *testing.T) {
			if _, err := readSettings(strings.Fields(args), none); err == nil || !strings.Contains(err.Error(), strings.Fields(args)[0]) {
				t.Errorf("error is %v", err)
			}
		})
	}
}
