package deploy_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
)

type (
	// need is the purpose of a permission.
	need struct {
		try     try
		without string // the message without the permission; by default, the API server's error
	}
	// try does what needs a permission, with an installation.
	try func(context.Context, *testing.T, installation) error
)

// readAsCaller is the message for a resource that is not read from the cache, because the service may not list and watch it.
const readAsCaller = "it was read at the API server"

// needs maps each permission of the service account to its purpose. Without the permission, the
// message is returned to the caller; for a permission to watch it is logged, because the service
// then lists repeatedly.
var needs = map[string]need{
	"list configmaps":   {serves("configmaps"), readAsCaller},
	"watch configmaps":  {serves("configmaps"), readAsCaller},
	"list deployments":  {serves("deployments"), readAsCaller},
	"watch deployments": {serves("deployments"), readAsCaller},
	"list gadgets":      {serves("gadgets"), readAsCaller},
	"watch gadgets":     {serves("gadgets"), readAsCaller},

	"list customresourcedefinitions":  {try: noticesAnotherSchema},
	"watch customresourcedefinitions": {try: noticesAnotherSchema},
	"list apiservices":                {try: noticesAnotherSchema}, // gadgets are cached only if they are known not to be aggregated
	"watch apiservices":               {try: noticesAnotherSchema},

	"create tokenreviews":                               {knowsWhoCalls, "could not be asked who is calling"},
	"list serviceaccounts":                              {followsServiceAccounts, "not allowed to list and watch serviceaccounts"},
	"watch serviceaccounts":                             {followsServiceAccounts, "not allowed to list and watch serviceaccounts"},
	"create subjectaccessreviews":                       {readsANamespace, "could not be asked what"},
	"get configmaps extension-apiserver-authentication": {callsByCertificate, "could not be asked for its authorities of client certificates"},
	"list clusterrolebindings":                          {readsAllThatItMay, "cannot find the namespaces that you can read"},
	"list clusterroles":                                 {readsAllThatItMay, "cannot find the namespaces that you can read"},
	"list rolebindings":                                 {readsAllThatItMay, "cannot find the namespaces that you can read"},
	"list roles":                                        {readsAllThatItMay, "cannot find the namespaces that you can read"},
	"watch clusterrolebindings":                         {try: seesRemovalOf("ClusterRoleBinding", everywhere)},
	"watch clusterroles":                                {try: seesRemovalOf("ClusterRole", byClusterRole)},
	"watch rolebindings":                                {try: seesRemovalOf("RoleBinding", byRole)},
	"watch roles":                                       {try: seesRemovalOf("Role", byRole)},

	"impersonate users":           {patchesByCertificate, "cannot impersonate"},
	"impersonate serviceaccounts": {try: patchesByToken},
	"impersonate groups":          {try: patchesByToken},
	"impersonate uids":            {try: patchesByToken},
	"impersonate userextras/authentication.kubernetes.io/credential-id": {try: patchesByToken},
	"impersonate userextras/authentication.kubernetes.io/node-name":     {try: patchesByToken},
	"impersonate userextras/authentication.kubernetes.io/node-uid":      {try: patchesByToken},
	"impersonate userextras/authentication.kubernetes.io/pod-name":      {try: patchesByToken},
	"impersonate userextras/authentication.kubernetes.io/pod-uid":       {try: patchesByToken},
}

func knowsWhoCalls(ctx context.Context, t *testing.T, installed installation) error {
	caller := newCaller(ctx, t)
	identity, err := installed.byToken(t, caller).Access.WhoAmI(ctx, &kubeconnectv1.WhoAmIRequest{})
	if err == nil && identity.GetUsername() != caller.user() {
		err = fmt.Errorf("%s is authenticated as %s", caller.user(), identity)
	}
	return err
}

// followsTime is long enough for the service to detect that it has no permission to watch a
// resource.
const followsTime = 15 * time.Second

// followsServiceAccounts calls with a token until the service reports that it has no permission to
// watch the objects that the token depends on. The service does not report that it has permission.
func followsServiceAccounts(ctx context.Context, t *testing.T, installed installation) error {
	caller := newCaller(ctx, t)
	client := installed.byToken(t, caller).Access
	for until := time.Now().Add(followsTime); time.Now().Before(until); time.Sleep(time.Second) {
		if _, err := client.WhoAmI(ctx, &kubeconnectv1.WhoAmIRequest{}); err != nil {
			return err
		}
		for line := range strings.Lines(installed.Output()) {
			if strings.Contains(line, "not allowed to list and watch serviceaccounts") {
				return errors.New(line)
			}
		}
	}
	return nil
}

func callsByCertificate(ctx context.Context, t *testing.T, installed installation) error {
	_, err := installed.byCertificate(ctx, t).Access.WhoAmI(ctx, &kubeconnectv1.WhoAmIRequest{})
	return err
}

func readsANamespace(ctx context.Context, t *testing.T, installed installation) error {
	caller := newCaller(ctx, t)
	_, err := installed.byToken(t, caller).Resources.List(ctx, &kubeconnectv1.ListRequest{Resource: "configmaps", Namespace: caller.namespace})
	return err
}

// readsAllThatItMay reads all namespaces, with permissions only in the caller's own.
func readsAllThatItMay(ctx context.Context, t *testing.T, installed installation) error {
	caller := newCaller(ctx, t)
	client := installed.byToken(t, caller).Resources
	request := &kubeconnectv1.ListRequest{Resource: "configmaps", MinResourceVersion: makeConfigMap(ctx, t, caller.namespace).GetResourceVersion()}
	list, err := untilNotForbidden(ctx, func() (*kubeconnectv1.ListResponse, error) { return client.List(ctx, request) })
	for _, object := range list.GetObjects() {
		if got := object.GetNamespace(); got != caller.namespace {
			t.Errorf("a caller with permissions in %s receives %s", caller.namespace, got)
		}
	}
	if err == nil && len(list.GetObjects()) == 0 {
		err = errors.New("the objects that the caller can read are missing")
	}
	return err
}

// seesRemovalOf watches all that a caller can read, in its own namespace and with a grant in
// another, and deletes the role or binding of the grant.
func seesRemovalOf(kind string, grant grant) try {
	return func(ctx context.Context, t *testing.T, installed installation) error {
		caller, lost := newCaller(ctx, t), newNamespace(ctx, t, cluster(t), nil)
		makeConfigMap(ctx, t, lost)
		grant.grantTo(ctx, t, caller, lost)
		stream, err := untilNotForbidden(ctx, func() (*watching, error) { return watch(ctx, installed.byToken(t, caller).Resources) })
		if err != nil {
			return err
		}
		succeeds(t, stream.until(kubeconnectv1.EventType_EVENT_TYPE_ADDED, lost))
		succeeds(t, newInstaller(t, cluster(t)).delete(ctx, rbacObject(kind, lost, values{})))
		succeeds(t, stream.until(kubeconnectv1.EventType_EVENT_TYPE_DELETED, lost))
		return installed.refused()
	}
}

func patchesByToken(ctx context.Context, t *testing.T, installed installation) error {
	caller := newCaller(ctx, t)
	return patches(ctx, t, installed.byToken(t, caller).Resources, caller.namespace)
}

func patchesByCertificate(ctx context.Context, t *testing.T, installed installation) error {
	return patches(ctx, t, installed.byCertificate(ctx, t).Resources, newNamespace(ctx, t, cluster(t), nil))
}

func patches(ctx context.Context, t *testing.T, client kubeconnectv1connect.ResourceServiceClient, namespace string) error {
	_, err := client.Patch(ctx, &kubeconnectv1.PatchRequest{
		Resource: "configmaps", Namespace: namespace, Name: makeConfigMap(ctx, t, namespace).GetName(),
		Type: kubeconnectv1.PatchType_PATCH_TYPE_MERGE,
		Body: &kubeconnectv1.PatchRequest_Data{Data: []byte(`{"data":{"patched":"yes"}}`)},
	})
	return err
}
