package watch

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kro.run/kro/api/v1alpha1"
)

// deployment is one as a server sends it, number n of a fleet that one definition makes.
func deployment(t testing.TB, n int) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(deploymentJSON(n)); err != nil {
		t.Fatal(err)
	}
	return obj
}

func deploymentJSON(n int) []byte {
	labels := fmt.Sprintf(`"kro.run/owned":"true","kro.run/kro-version":"v1.0.0","app.kubernetes.io/managed-by":"kro",
		"kro.run/instance-id":"0b9b3ad4-7c3f-4f0e-9a3e-%012d","kro.run/instance-name":"web-%d","kro.run/instance-namespace":"team-%d",
		"kro.run/instance-group":"kro.run","kro.run/instance-version":"v1alpha1","kro.run/instance-kind":"WebApp","kro.run/node-id":"deployment",
		"applyset.kubernetes.io/part-of":"applyset-pII89pbr4RmmqhJ-_v8C3xxaRTIMV-K8-%07d-v1"`, n, n, n%10, n)
	return fmt.Appendf(nil, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web-%[1]d","namespace":"team-%[2]d",
		"uid":"5d2f0a3e-7c3f-4f0e-9a3e-%012[1]d","resourceVersion":"%[3]d","generation":1,"creationTimestamp":"2026-01-01T00:00:%02[4]dZ",
		"labels":{%[5]s},"annotations":{"deployment.kubernetes.io/revision":"1","internal.kro.run/apply-order":"2"},
		"managedFields":[
			{"manager":"kro.run/applyset","operation":"Apply","apiVersion":"apps/v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{
				"f:metadata":{"f:labels":{"f:kro.run/owned":{},"f:kro.run/kro-version":{},"f:kro.run/instance-id":{},"f:kro.run/instance-name":{},"f:kro.run/node-id":{}},
					"f:annotations":{"f:internal.kro.run/apply-order":{}}},
				"f:spec":{"f:replicas":{},"f:selector":{},"f:template":{"f:metadata":{"f:labels":{"f:app":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},
					"f:image":{},"f:name":{},"f:ports":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}}},"f:resources":{}}}}}}}},
			{"manager":"kube-controller-manager","operation":"Update","apiVersion":"apps/v1","time":"2026-01-01T00:00:05Z","fieldsType":"FieldsV1","subresource":"status",
				"fieldsV1":{"f:metadata":{"f:annotations":{"f:deployment.kubernetes.io/revision":{}}},"f:status":{"f:availableReplicas":{},"f:conditions":{".":{},
					"k:{\"type\":\"Available\"}":{".":{},"f:status":{},"f:type":{},"f:reason":{}},"k:{\"type\":\"Progressing\"}":{".":{},"f:status":{},"f:type":{}}},
					"f:observedGeneration":{},"f:readyReplicas":{},"f:replicas":{},"f:updatedReplicas":{}}}}]},
		"spec":{"replicas":2,"selector":{"matchLabels":{"app":"web-%[1]d"}},"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":"25%%","maxUnavailable":"25%%"}},
			"revisionHistoryLimit":10,"progressDeadlineSeconds":600,
			"template":{"metadata":{"labels":{"app":"web-%[1]d"}},"spec":{"containers":[{"name":"web","image":"registry.example.com/team/web:1.27.3",
				"ports":[{"containerPort":80,"protocol":"TCP"}],"env":[{"name":"LOG_LEVEL","value":"info"},{"name":"REGION","value":"eu-west-1"}],
				"resources":{"limits":{"cpu":"500m","memory":"256Mi"},"requests":{"cpu":"100m","memory":"128Mi"}},
				"readinessProbe":{"httpGet":{"path":"/healthz","port":80,"scheme":"HTTP"},"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3},
				"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent",
				"securityContext":{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]},"runAsNonRoot":true}}],
				"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","securityContext":{},"schedulerName":"default-scheduler"}}},
		"status":{"observedGeneration":1,"replicas":2,"updatedReplicas":2,"readyReplicas":2,"availableReplicas":2,"conditions":[
			{"type":"Available","status":"True","lastUpdateTime":"2026-01-01T00:00:%02[4]dZ","lastTransitionTime":"2026-01-01T00:00:%02[4]dZ","reason":"MinimumReplicasAvailable","message":"Deployment has minimum availability."},
			{"type":"Progressing","status":"True","lastUpdateTime":"2026-01-01T00:00:%02[4]dZ","lastTransitionTime":"2026-01-01T00:00:%02[4]dZ","reason":"NewReplicaSetAvailable","message":"ReplicaSet \"web-%[1]d-6d4cf56db6\" has successfully progressed."}]}}`,
		n, n%10, 1000+n, n%60, labels)
}

// What a Deployment costs: as the client gives it, without managedFields, and as the store keeps it (with the store's indexes).
func BenchmarkBytesPerObject(b *testing.B) {
	const n = 3000
	kept := map[string]func([]*unstructured.Unstructured) any{
		"raw": func(objs []*unstructured.Unstructured) any { return objs },
		"stripped": func(objs []*unstructured.Unstructured) any {
			for _, obj := range objs {
				unstructured.RemoveNestedField(obj.Object, "metadata", "managedFields")
			}
			return objs
		},
		"stored": func(objs []*unstructured.Unstructured) any {
			store := newStore(Source{GVR: configMaps}, logr.Discard(), Options{}.withDefaults(), newCompactor())
			for _, obj := range objs {
				store.compact.compact(obj)
			}
			store.replace(objs, 1)
			return store
		},
	}
	for _, name := range []string{"raw", "stripped", "stored"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				before := heap()
				objs := make([]*unstructured.Unstructured, n)
				for i := range objs {
					objs[i] = deployment(b, i)
				}
				result := kept[name](objs)
				clear(objs[:0])
				b.ReportMetric(float64(heap()-before)/n, "bytes/object")
				runtime.KeepAlive(result)
			}
		})
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func BenchmarkCompact(b *testing.B) {
	c := newCompactor()
	objs := make([]*unstructured.Unstructured, 1000)
	for i := range objs {
		objs[i] = deployment(b, i)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		c.compact(objs[i%len(objs)])
	}
}

// BenchmarkDecode is there to compare: every object is decoded before it is compacted.
func BenchmarkDecode(b *testing.B) {
	text := deploymentJSON(1)
	b.ReportAllocs()
	for b.Loop() {
		if err := (&unstructured.Unstructured{}).UnmarshalJSON(text); err != nil {
			b.Fatal(err)
		}
	}
}

// The cost of an event must not depend on how many objects and owners there are.
func BenchmarkRoute(b *testing.B) {
	for _, n := range []int{10, 1000, 10000} {
		b.Run(fmt.Sprintf("owners=%d", n), func(b *testing.B) {
			store := newStore(Source{GVR: configMaps}, logr.Discard(), Options{}.withDefaults(), newCompactor())
			told := 0
			objs := make([]*unstructured.Unstructured, n)
			for i := range n {
				objs[i] = deployment(b, i)
				store.compact.compact(objs[i])
				store.subscribe(fmt.Sprint("owner-", i), Interest{IndexInstanceID, label(objs[i], v1alpha1.InstanceIDLabel)}, func(Event) { told++ })
			}
			store.replace(objs, 1)
			told = 0
			states := [2]*unstructured.Unstructured{deployment(b, 5), deployment(b, 5)}
			_ = unstructured.SetNestedField(states[1].Object, int64(1), "status", "readyReplicas")
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				store.saw(states[(i+1)%2], false)
			}
			if told != b.N {
				b.Errorf("%d owners were told of %d events, want one each", told, b.N)
			}
		})
	}
}
