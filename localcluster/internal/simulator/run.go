package simulator

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

const workers = 4

// item is one object to look at again.
type item struct {
	kind string
	key  cache.ObjectName
}

// loop is one watched kind: where its objects are read and what is done for one.
type loop struct {
	informer cache.SharedIndexInformer
	act      func(ctx context.Context, object runtime.Object) error
}

// Run simulates until ctx ends. It returns an error only when its caches cannot
// be filled; a write that fails is tried again with growing pauses.
func Run(ctx context.Context, client kubernetes.Interface) error {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(strip))
	writer := writer{client: client, now: metav1.Now}
	loops := map[string]loop{
		"Pod":                   {factory.Core().V1().Pods().Informer(), writer.pod},
		"Service":               {factory.Core().V1().Services().Informer(), writer.service},
		"PersistentVolumeClaim": {factory.Core().V1().PersistentVolumeClaims().Informer(), writer.claim},
		"PersistentVolume":      {factory.Core().V1().PersistentVolumes().Informer(), writer.volume},
		"Ingress":               {factory.Networking().V1().Ingresses().Informer(), writer.ingress},
	}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[item](10*time.Millisecond, 10*time.Second))
	for kind, l := range loops {
		add := func(object any) {
			if key, err := cache.ObjectToName(object); err == nil {
				queue.Add(item{kind, key})
			}
		}
		_, err := l.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, object any) { add(object) }})
		if err != nil {
			return fmt.Errorf("watch objects of kind %s: %w", kind, err)
		}
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	for of, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced && ctx.Err() == nil {
			return fmt.Errorf("list objects of type %v: the cache was not filled", of)
		}
	}

	var running sync.WaitGroup
	for range workers {
		running.Go(func() { work(ctx, queue, loops) })
	}
	<-ctx.Done()
	queue.ShutDown()
	running.Wait()
	return nil
}

// strip drops what nobody here reads and what is most of a small object.
func strip(object any) (any, error) {
	if o, ok := object.(metav1.Object); ok {
		o.SetManagedFields(nil)
	}
	return object, nil
}

func work(ctx context.Context, queue workqueue.TypedRateLimitingInterface[item], loops map[string]loop) {
	for {
		next, shutdown := queue.Get()
		if shutdown {
			return
		}
		if err := look(ctx, loops[next.kind], next.key); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "tried again later", "kind", next.kind, "object", next.key.String())
			queue.AddRateLimited(next)
		} else {
			queue.Forget(next)
		}
		queue.Done(next)
	}
}

func look(ctx context.Context, l loop, key cache.ObjectName) error {
	stored, exists, err := l.informer.GetStore().GetByKey(key.String())
	if err != nil || !exists {
		return err
	}
	object, ok := stored.(runtime.Object)
	if !ok {
		return fmt.Errorf("the cache holds a %T, not an object", stored)
	}
	return ignoreStale(l.act(ctx, object))
}

// ignoreStale drops the errors of a write based on an old state: the newer state
// is on its way through the watch and comes with its own turn.
func ignoreStale(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// writer sends what the pure functions of this package decide.
type writer struct {
	client kubernetes.Interface
	now    func() metav1.Time
}

var errType = errors.New("an object of another kind than watched")

func (w writer) pod(ctx context.Context, object runtime.Object) error {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return errType
	}
	pods := w.client.CoreV1().Pods(pod.Namespace)
	if Gone(pod) {
		now := int64(0)
		return pods.Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &pod.UID}})
	}
	status, changed := PodStatus(pod, w.now())
	if !changed {
		return nil
	}
	pod = pod.DeepCopy()
	pod.Status = *status
	_, err := pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	return err
}

func (w writer) service(ctx context.Context, object runtime.Object) error {
	service, ok := object.(*corev1.Service)
	if !ok {
		return errType
	}
	status, changed := ServiceStatus(service)
	if !changed {
		return nil
	}
	service = service.DeepCopy()
	service.Status = *status
	_, err := w.client.CoreV1().Services(service.Namespace).UpdateStatus(ctx, service, metav1.UpdateOptions{})
	return err
}

func (w writer) ingress(ctx context.Context, object runtime.Object) error {
	ingress, ok := object.(*networkingv1.Ingress)
	if !ok {
		return errType
	}
	status, changed := IngressStatus(ingress)
	if !changed {
		return nil
	}
	ingress = ingress.DeepCopy()
	ingress.Status = *status
	_, err := w.client.NetworkingV1().Ingresses(ingress.Namespace).UpdateStatus(ctx, ingress, metav1.UpdateOptions{})
	return err
}

func (w writer) claim(ctx context.Context, object runtime.Object) error {
	claim, ok := object.(*corev1.PersistentVolumeClaim)
	if !ok {
		return errType
	}
	volume := VolumeFor(claim)
	if volume == nil {
		return nil
	}
	_, err := w.client.CoreV1().PersistentVolumes().Create(ctx, volume, metav1.CreateOptions{})
	return err
}

func (w writer) volume(ctx context.Context, object runtime.Object) error {
	volume, ok := object.(*corev1.PersistentVolume)
	if !ok {
		return errType
	}
	if !Reclaimable(volume) {
		return nil
	}
	return w.client.CoreV1().PersistentVolumes().Delete(ctx, volume.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &volume.UID}})
}
