package kinds

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

const crdResource = "customresourcedefinitions"

// listPage bounds how many CRDs are in memory as text at once where the server cannot stream them one by one.
const listPage = 10

// wireCRD is the part of a CRD that is decoded from a watch. Schemas, which can make a CRD a megabyte, are passed over in the text.
type wireCRD struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Group string `json:"group"`
		Scope string `json:"scope"`
		Names struct {
			Plural string `json:"plural"`
			Kind   string `json:"kind"`
		} `json:"names"`
		Versions []struct {
			Name    string `json:"name"`
			Served  bool   `json:"served"`
			Storage bool   `json:"storage"`
		} `json:"versions"`
	} `json:"spec"`
	Status struct {
		Conditions []struct {
			Type   string `json:"type"`
			Status string `json:"status"`
		} `json:"conditions"`
	} `json:"status"`
}

type wireCRDList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []wireCRD `json:"items"`
}

// DeepCopyObject is what runtime.Object asks for. Nothing changes a decoded wireCRD, so that a shallow copy will do.
func (c *wireCRD) DeepCopyObject() runtime.Object { shallow := *c; return &shallow }

// DeepCopyObject is what runtime.Object asks for.
func (l *wireCRDList) DeepCopyObject() runtime.Object { shallow := *l; return &shallow }

func (c *wireCRD) info() *CRDInfo {
	info := &CRDInfo{
		Name: c.Name, UID: c.UID, ResourceVersion: c.ResourceVersion, Generation: c.Generation, Labels: c.Labels,
		Group: c.Spec.Group, Kind: c.Spec.Names.Kind, Plural: c.Spec.Names.Plural,
		Namespaced: c.Spec.Scope == string(apiextensionsv1.NamespaceScoped),
	}
	for _, v := range c.Spec.Versions {
		info.Versions = append(info.Versions, Version{Name: v.Name, Served: v.Served, Storage: v.Storage})
	}
	for _, condition := range c.Status.Conditions {
		if condition.Type == string(apiextensionsv1.Established) {
			info.Established = condition.Status == string(apiextensionsv1.ConditionTrue)
		}
	}
	return info
}

// newCRDWatch makes a client that decodes CRDs as wireCRD, for listing and watching.
func newCRDWatch(cfg *rest.Config) (*cache.ListWatch, error) {
	gv := apiextensionsv1.SchemeGroupVersion
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(gv.WithKind("CustomResourceDefinition"), &wireCRD{})
	scheme.AddKnownTypeWithName(gv.WithKind("CustomResourceDefinitionList"), &wireCRDList{})
	metav1.AddToGroupVersion(scheme, gv)

	cfg = rest.CopyConfig(cfg)
	cfg.Timeout = 0 // a watch lasts
	cfg.APIPath = "/apis"
	cfg.GroupVersion = &gv
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	cfg.ContentType, cfg.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	client, err := rest.RESTClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("making a client that watches CustomResourceDefinitions: %w", err)
	}
	parameters := runtime.NewParameterCodec(scheme)
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			if options.ResourceVersion == "0" {
				options.ResourceVersion = "" // at 0, servers leave the limit out of account and send everything at once
			}
			list := &wireCRDList{}
			return list, client.Get().Resource(crdResource).VersionedParams(&options, parameters).Do(ctx).Into(list)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.Watch = true
			return client.Get().Resource(crdResource).VersionedParams(&options, parameters).Watch(ctx)
		},
	}, nil
}

// follow keeps the index up to date with the cluster's CRDs until ctx ends. It returns only then.
func follow(ctx context.Context, crds cache.ListerWatcher, index *crdIndex, log logr.Logger) {
	reflector := cache.NewReflectorWithOptions(crds, &wireCRD{}, crdStore{index}, cache.ReflectorOptions{
		Logger: &log, Name: "kinds", TypeDescription: "CustomResourceDefinition",
	})
	reflector.WatchListPageSize = listPage
	reflector.RunWithContext(klog.NewContext(ctx, log))
}

// crdStore is where the reflector puts CRDs: the index itself, without an informer's queue and second copy between.
type crdStore struct{ index *crdIndex }

func (s crdStore) Add(obj any) error { return s.Update(obj) }

func (s crdStore) Update(obj any) error {
	crd, err := asCRD(obj)
	if err != nil {
		return err
	}
	s.index.put(crd.info())
	return nil
}

func (s crdStore) Delete(obj any) error {
	crd, err := asCRD(obj)
	if err != nil {
		return err
	}
	s.index.remove(crd.Name)
	return nil
}

func (s crdStore) Replace(objs []any, _ string) error {
	all := make([]*CRDInfo, 0, len(objs))
	for _, obj := range objs {
		crd, err := asCRD(obj)
		if err != nil {
			return err
		}
		all = append(all, crd.info())
	}
	s.index.replace(all)
	return nil
}

func (s crdStore) Resync() error { return nil }

// Transformer drops what a CRD's metadata carries besides, while the first list is still streaming in.
func (s crdStore) Transformer() cache.TransformFunc {
	return func(obj any) (any, error) {
		if crd, is := obj.(*wireCRD); is {
			crd.ManagedFields, crd.Annotations, crd.OwnerReferences = nil, nil, nil
		}
		return obj, nil
	}
}

func asCRD(obj any) (*wireCRD, error) {
	crd, is := obj.(*wireCRD)
	if !is {
		return nil, fmt.Errorf("watching CustomResourceDefinitions: got a %T", obj)
	}
	return crd, nil
}

var _ cache.TransformingStore = crdStore{}

// requestTimeout bounds each single request of the catalog.
const requestTimeout = 30 * time.Second
