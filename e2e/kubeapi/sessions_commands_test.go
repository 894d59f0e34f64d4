package kubeapi_test

const settings = `apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {app: pruned}}
data: {a: "1"}
`

const others = `apiVersion: v1
kind: ConfigMap
metadata: {name: others, labels: {app: pruned}}
data: {b: "1"}
`

const gadgets = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.NAMESPACE.example.com}
spec:
  group: NAMESPACE.example.com
  scope: Namespaced
  names: {plural: gadgets, singular: gadget, kind: Gadget, shortNames: [gd]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    additionalPrinterColumns: [{name: Color, type: string, jsonPath: .spec.color}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {color: {type: string, enum: [red, blue], description: The color.}, replicas: {type: integer}}}
          status: {type: object, properties: {replicas: {type: integer}}}
`

const gadget = `apiVersion: NAMESPACE.example.com/v1
kind: Gadget
metadata: {name: one}
spec: {color: red, replicas: 1}
`

const node = `apiVersion: v1
kind: Node
metadata: {name: NAMESPACE, labels: {own: NAMESPACE}}
spec: {unschedulable: true}
`

// sessions are the commands of some days.
var sessions = map[string]session{
	"objects": {
		files: map[string]string{"settings.yaml": settings, "both.yaml": settings + "---\n" + others},
		commands: []string{
			"create configmap settings --from-literal=a=1",
			"! create configmap settings --from-literal=a=1",
			"create configmap dry --from-literal=a=1 --dry-run=server --output=yaml",
			"create configmap dry --from-literal=a=1 --dry-run=client --output=json",
			"get configmap/settings --output=yaml",
			"get configmap/settings --output=yaml --show-managed-fields",
			"label configmap/settings color=red",
			"label configmap/settings --list",
			"! label configmap/settings color=blue",
			"label configmap/settings color=blue --overwrite",
			"label configmaps --all checked=yes",
			"! annotate configmap/settings note=1 --resource-version=1",
			"annotate configmap/settings note=1",
			`patch configmap/settings --type=merge --patch={"data":{"c":"3"}}`,
			`patch configmap/settings --type=json --patch=[{"op":"remove","path":"/data/c"}]`,
			`! patch configmap/settings --type=json --patch=[{"op":"test","path":"/data/a","value":"9"}]`,
			`patch configmap/settings --patch={"data":{"d":"4"}} --output=jsonpath={.data}`,
			"apply --filename=both.yaml",
			"apply --filename=both.yaml",
			"diff --filename=both.yaml",
			"edit configmap/settings",
			"! diff --filename=both.yaml",
			"edit configmap/settings",
			"apply view-last-applied configmap/others",
			"replace --filename=settings.yaml",
			"get configmaps --selector=app=pruned --output=name",
			"get configmaps --selector=app=pruned --output=json --sort-by=.metadata.name",
			"get configmaps --output=custom-columns=NAME:.metadata.name,A:.data.a",
			"get configmaps --output=jsonpath={.items[*].metadata.name}",
			"get configmaps --output=go-template={{range.items}}{{.metadata.name}}{{end}}",
			"get configmaps --chunk-size=1 --output=name",
			"get configmaps --selector=app=nothing",
			"get configmaps --selector=app=nothing --output=yaml",
			"! get configmaps --selector=,, --output=name",
			"! get configmaps --field-selector=data.a=1 --output=name",
			"get configmaps --all-namespaces --field-selector=metadata.namespace=NAMESPACE --output=json",
			"describe configmap/settings",
			"apply --prune --selector=app=pruned --filename=settings.yaml --prune-allowlist=core/v1/ConfigMap",
			"get configmaps --output=name",
			"apply --prune --applyset=configmaps/set --filename=both.yaml --server-side --force-conflicts",
			"apply --prune --applyset=configmaps/set --filename=settings.yaml --server-side --force-conflicts",
			"get configmaps --output=name",
			"wait configmap/settings --for=jsonpath={.data.a}=1",
			"wait configmap/missing --for=delete",
			"! wait configmap/missing --for=create --timeout=1s",
			"! get configmap/settings secret/missing --output=name",
			"create secret generic hidden --from-literal=password=secret",
			"get secret/hidden --output=jsonpath={.data.password}",
			"describe secret/hidden",
			"create quota limits --hard=configmaps=20",
			"wait quota/limits --for=jsonpath={.status.hard.configmaps}=20",
			"get quota,limitranges,secrets --output=name",
			"delete configmaps --selector=app=pruned",
			"! delete configmap/settings",
			"delete configmap/settings --ignore-not-found",
			"delete secrets --all --wait=false",
			"get secrets",
		},
	},
	"workloads": {
		files: map[string]string{"web.yaml": manifest},
		commands: []string{
			"apply --filename=web.yaml",
			"rollout status deployment/web",
			"apply --server-side --field-manager=other --filename=web.yaml",
			"! scale deployment/web --replicas=3 --current-replicas=9",
			"scale deployment/web --replicas=3",
			"! apply --server-side --field-manager=third --filename=web.yaml",
			"rollout status deployment/web",
			"wait deployment/web --for=condition=Available --timeout=60s",
			"wait deployment/web --for=jsonpath={.status.readyReplicas}=3 --timeout=60s",
			"get deployment/web --output=jsonpath={.status.conditions[*].type}",
			"get deployment/web --subresource=scale --output=jsonpath={.spec.replicas}",
			"set image deployment/web main=example.com/web:2",
			"rollout status deployment/web",
			"rollout history deployment/web",
			"rollout history deployment/web --revision=2",
			"rollout undo deployment/web",
			"rollout status deployment/web",
			"rollout pause deployment/web",
			"set env deployment/web COLOR=red",
			"set resources deployment/web --limits=cpu=1",
			"rollout resume deployment/web",
			"rollout status deployment/web",
			"rollout restart deployment/web",
			"rollout status deployment/web",
			"! rollout undo deployment/web --to-revision=99",
			"expose deployment/web --port=80 --target-port=8080",
			"autoscale deployment/web --min=3 --max=3",
			"get deployments,services",
			"get deployments,services --output=wide",
			"get replicasets --output=name",
			"describe service/web --show-events=false",
			"run bare --image=example.com/bare:1 --labels=app=bare",
			"wait pod/bare --for=condition=Ready --timeout=60s",
			"get pods --selector=app=bare",
			"get pods --selector=app=bare --output=wide",
			"describe pod/bare --show-events=false",
			"debug pod/bare --image=example.com/debug:1 --container=debugger --attach=false",
			"get pod/bare --output=jsonpath={.spec.ephemeralContainers[*].name}",
			"delete pod/bare --grace-period=1",
			"wait pod/bare --for=delete --timeout=60s",
			"create job once --image=example.com/once:1",
			"get job/once --output=name",
			"create cronjob nightly --image=example.com/once:1 --schedule=@yearly",
			"create job manual --from=cronjob/nightly",
			"get cronjobs,jobs --output=name",
			"delete deployment/web --cascade=orphan",
			"get replicasets --output=jsonpath={.items[*].metadata.ownerReferences}",
			"delete replicasets --all --cascade=foreground",
			"wait replicasets --all --for=delete --timeout=60s",
			"get pods --selector=app=web --output=name",
			"delete services,jobs --all", // before the garbage collector deletes jobs of the other
			"delete cronjobs --all",
		},
	},
	"custom resources": {
		files: map[string]string{"definition.yaml": gadgets, "gadget.yaml": gadget},
		commands: []string{
			"! apply --filename=gadget.yaml",
			"apply --filename=definition.yaml",
			"wait crd/gadgets.NAMESPACE.example.com --for=condition=Established",
			"wait crd/gadgets.NAMESPACE.example.com --for=condition=NamesAccepted",
			"apply --filename=gadget.yaml --server-side",
			"get gadgets.NAMESPACE.example.com",
			"get gadgets.NAMESPACE.example.com --output=json",
			"get gadgets.NAMESPACE.example.com/one --output=yaml --show-managed-fields",
			"describe gadgets.NAMESPACE.example.com/one",
			`! patch gadgets.NAMESPACE.example.com/one --type=merge --patch={"spec":{"color":"green"}}`,
			`patch gadgets.NAMESPACE.example.com/one --type=merge --patch={"spec":{"color":"blue"}}`,
			`patch gadgets.NAMESPACE.example.com/one --type=merge --subresource=status --patch={"status":{"replicas":2}}`,
			"scale gadgets.NAMESPACE.example.com/one --replicas=4",
			"wait gadgets.NAMESPACE.example.com/one --for=jsonpath={.status.replicas}=2",
			"get gadgets.NAMESPACE.example.com/one --output=jsonpath={.spec}{.status}",
			"api-resources --api-group=NAMESPACE.example.com --cached=false --no-headers",
			"delete gadgets.NAMESPACE.example.com --all",
			"delete --filename=definition.yaml",
		},
	},
	"access": {
		commands: []string{
			"create serviceaccount robot",
			"create token robot",
			"create token robot --duration=1h --audience=https://example.com",
			"! create token missing",
			"create role reader --verb=get,list --resource=configmaps",
			"create rolebinding reader --role=reader --serviceaccount=NAMESPACE:robot",
			"auth whoami",
			"auth can-i create pods",
			"! auth can-i create pods --as=system:serviceaccount:NAMESPACE:robot",
			"auth can-i list configmaps --as=system:serviceaccount:NAMESPACE:robot",
			"auth can-i --list --as=system:serviceaccount:NAMESPACE:robot",
			"auth whoami --as=system:serviceaccount:NAMESPACE:robot",
			"get configmaps --as=system:serviceaccount:NAMESPACE:robot --output=name",
			"! get secrets --as=system:serviceaccount:NAMESPACE:robot",
			"! get configmaps --all-namespaces --as=system:serviceaccount:NAMESPACE:robot",
			"get configmaps --as=nobody --as-group=system:masters --output=name",
			"describe role/reader",
			"describe rolebinding/reader",
			"delete rolebinding/reader role/reader serviceaccount/robot",
		},
	},
	"nodes": {
		files: map[string]string{"node.yaml": node},
		commands: []string{
			"apply --filename=node.yaml",
			"get node/NAMESPACE",
			"get nodes --selector=own=NAMESPACE --output=json",
			"taint node NAMESPACE own=yes:NoExecute",
			"! taint node NAMESPACE own=yes:NoExecute",
			"uncordon NAMESPACE",
			"cordon NAMESPACE",
			"drain NAMESPACE --ignore-daemonsets",
			"get node/NAMESPACE --output=jsonpath={.spec}",
			"delete node/NAMESPACE",
		},
	},
	"the cluster": {
		commands: []string{
			"version",
			"cluster-info",
			"api-versions",
			"api-resources --api-group=apps --cached=false --output=wide",
			"api-resources --api-group=nothing --cached=false",
			"explain pods --recursive",
			"explain pod.spec.containers.image",
			"explain deployments --api-version=apps/v1 --output=plaintext-openapiv2",
			"! explain nothing",
			"get namespace/NAMESPACE --output=yaml",
			"describe namespace/NAMESPACE",
			"get clusterroles --selector=kubernetes.io/bootstrapping=rbac-defaults",
			"get clusterroles --selector=kubernetes.io/bootstrapping=rbac-defaults --output=json",
			"get priorityclasses",
			"get flowschemas --output=name",
			"get apiservice/v1.apps --output=yaml",
			"get --raw=/version",
			"get --raw=/apis/apps/v1",
			"get --raw=/api/v1/namespaces/NAMESPACE/configmaps?limit=1&labelSelector=a=b",
			"! get --raw=/api/v1/namespaces/NAMESPACE/nothing",
			"! get --raw=/nothing",
			"! get nothing",
			"! top pods",
			"! top nodes",
			"events",
		},
	},
}
