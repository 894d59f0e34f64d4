package write

import (
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// groupClient is the clientset's client for one group and version.
type groupClient interface{ RESTClient() rest.Interface }

var groupClientType = reflect.TypeFor[groupClient]()

// accessors are the indexes of the clientset's methods (CoreV1, AppsV1 and so on) by group and
// version. They are found by reflection, so that no list of them has to be maintained.
var (
	accessorsOnce sync.Once
	accessors     map[schema.GroupVersion]int
)

// typedClient returns the clientset's REST client for a group and version, or false if the
// clientset has none.
func typedClient(clientset *kubernetes.Clientset, groupVersion schema.GroupVersion) (rest.Interface, bool) {
	accessorsOnce.Do(func() { accessors = findAccessors(clientset) })
	index, ok := accessors[groupVersion]
	if !ok {
		return nil, false
	}
	return callAccessor(clientset, index), true
}

func findAccessors(clientset *kubernetes.Clientset) map[schema.GroupVersion]int {
	found := make(map[schema.GroupVersion]int)
	for i := range reflect.TypeOf(clientset).NumMethod() {
		method := reflect.ValueOf(clientset).Method(i).Type()
		if method.NumIn() != 0 || method.NumOut() != 1 || !method.Out(0).Implements(groupClientType) {
			continue
		}
		found[callAccessor(clientset, i).APIVersion()] = i
	}
	return found
}

func callAccessor(clientset *kubernetes.Clientset, index int) rest.Interface {
	answers := reflect.ValueOf(clientset).Method(index).Call(nil)
	return answers[0].Interface().(groupClient).RESTClient()
}
