"""The built-in resources of the fake service."""

# The group ("-" for the core group), version, kind, plural name, scope, short names, categories,
# subresources and traits of each resource:
#
# - generation: the API server counts the changes of its specification in metadata.generation.
# - upsert: an update creates a missing object.
# - versioned: an update of an object must name its resource version.
# - returned: a deletion returns the deleted object.
# - orphans: what an object owns remains by default when the object is deleted.
BUILT_IN_RESOURCES = """
-|v1|ConfigMap|configmaps|namespaced|cm|||
-|v1|Endpoints|endpoints|namespaced|ep|||upsert
-|v1|Event|events|namespaced|ev|||upsert
-|v1|LimitRange|limitranges|namespaced|limits|||upsert
-|v1|Namespace|namespaces|cluster|ns||status|
-|v1|Node|nodes|cluster|no||status|
-|v1|PersistentVolumeClaim|persistentvolumeclaims|namespaced|pvc||status|returned
-|v1|PersistentVolume|persistentvolumes|cluster|pv||status|returned
-|v1|Pod|pods|namespaced|po|all|eviction,log,status|generation,returned
-|v1|PodTemplate|podtemplates|namespaced||||generation,returned
-|v1|ReplicationController|replicationcontrollers|namespaced|rc|all|scale,status|generation,orphans
-|v1|ResourceQuota|resourcequotas|namespaced|quota||status|returned
-|v1|Secret|secrets|namespaced||||
-|v1|ServiceAccount|serviceaccounts|namespaced|sa|||returned
-|v1|Service|services|namespaced|svc|all|status|upsert,returned
admissionregistration.k8s.io|v1|MutatingWebhookConfiguration|mutatingwebhookconfigurations|cluster||api-extensions||generation,versioned
admissionregistration.k8s.io|v1|ValidatingWebhookConfiguration|validatingwebhookconfigurations|cluster||api-extensions||generation,versioned
apiextensions.k8s.io|v1|CustomResourceDefinition|customresourcedefinitions|cluster|crd,crds|api-extensions|status|generation,versioned
apps|v1|ControllerRevision|controllerrevisions|namespaced||||
apps|v1|DaemonSet|daemonsets|namespaced|ds|all|status|generation
apps|v1|Deployment|deployments|namespaced|deploy|all|scale,status|generation
apps|v1|ReplicaSet|replicasets|namespaced|rs|all|scale,status|generation
apps|v1|StatefulSet|statefulsets|namespaced|sts|all|scale,status|generation
autoscaling|v2|HorizontalPodAutoscaler|horizontalpodautoscalers|namespaced|hpa|all|status|generation
batch|v1|CronJob|cronjobs|namespaced|cj|all|status|generation
batch|v1|Job|jobs|namespaced||all|status|generation,orphans
certificates.k8s.io|v1|CertificateSigningRequest|certificatesigningrequests|cluster|csr||status|
coordination.k8s.io|v1|Lease|leases|namespaced||||upsert,versioned
discovery.k8s.io|v1|EndpointSlice|endpointslices|namespaced||||generation
networking.k8s.io|v1|IngressClass|ingressclasses|cluster||||generation
networking.k8s.io|v1|Ingress|ingresses|namespaced|ing||status|generation
networking.k8s.io|v1|NetworkPolicy|networkpolicies|namespaced|netpol|||generation
node.k8s.io|v1|RuntimeClass|runtimeclasses|cluster||||upsert,versioned
policy|v1|PodDisruptionBudget|poddisruptionbudgets|namespaced|pdb||status|generation,versioned
rbac.authorization.k8s.io|v1|ClusterRoleBinding|clusterrolebindings|cluster||||upsert
rbac.authorization.k8s.io|v1|ClusterRole|clusterroles|cluster||||upsert
rbac.authorization.k8s.io|v1|RoleBinding|rolebindings|namespaced||||upsert
rbac.authorization.k8s.io|v1|Role|roles|namespaced||||upsert
scheduling.k8s.io|v1|PriorityClass|priorityclasses|cluster|pc|||generation
storage.k8s.io|v1|StorageClass|storageclasses|cluster|sc|||returned
"""

# The fields that field selectors of a resource can name, in addition to the name and namespace.
SELECTABLE_FIELDS = {
    "pods": (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ),
    "nodes": ("spec.unschedulable",),
    "namespaces": ("status.phase",),
    "secrets": ("type",),
    "services": ("spec.clusterIP", "spec.type"),
    "replicasets": ("status.replicas",),
    "replicationcontrollers": ("status.replicas",),
    "events": (
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "type",
    ),
}
