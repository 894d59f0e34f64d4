package simulate

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The deployment that is released again and again. Its minReadySeconds makes a rollout last.
const (
	releasedNamespace = "shop"
	releasedName      = "checkout"
	revisionKey       = "deployment.kubernetes.io/revision"
)

// release starts a rollout, as a pipeline would: the next image, and the cause of the change.
func (s *Simulation) release(ctx context.Context) error {
	deployments := s.client.AppsV1().Deployments(releasedNamespace)
	deployment, err := deployments.Get(ctx, releasedName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	patch, err := json.Marshal(releaseOf(deployment))
	if err != nil {
		return err
	}
	_, err = deployments.Patch(ctx, releasedName, types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: "release-pipeline"})
	return err
}

// releaseOf returns the patch that sets the version after the deployment's revision.
func releaseOf(deployment *appsv1.Deployment) map[string]any {
	revision, _ := strconv.Atoi(deployment.Annotations[revisionKey])
	version := fmt.Sprintf("1.5.%d", revision)
	container := map[string]any{"name": releasedName, "image": "registry.example.com/shop/checkout:" + version}
	return map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{"kubernetes.io/change-cause": "release checkout " + version}},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
			"containers": []any{container},
		}}},
	}
}
