package simulator

import (
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

func TestServiceStatus(t *testing.T) {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "example", UID: "u1"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP},
	}
	if _, changed := ServiceStatus(service); changed {
		t.Fatal("a ClusterIP Service gets no load balancer")
	}
	service.Spec.Type = corev1.ServiceTypeLoadBalancer
	status, changed := ServiceStatus(service)
	if !changed || len(status.LoadBalancer.Ingress) != 1 {
		t.Fatalf("a LoadBalancer Service gets one address, got %+v", status)
	}
	if got := status.LoadBalancer.Ingress[0].Hostname; got != "web.example.simulated.test" {
		t.Errorf("hostname %q does not say whose it is and that it is simulated", got)
	}
	service.Status = *status
	if _, changed := ServiceStatus(service); changed {
		t.Error("a second look writes again")
	}
	service.Spec.Type = corev1.ServiceTypeNodePort
	status, changed = ServiceStatus(service)
	if !changed || len(status.LoadBalancer.Ingress) != 0 {
		t.Error("the address stays after the type has changed")
	}
	service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.7"}}
	if _, changed := ServiceStatus(service); changed {
		t.Error("an address that somebody else wrote was taken away")
	}
}

func TestIngressStatus(t *testing.T) {
	ingress := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "example", UID: "u1"}}
	status, changed := IngressStatus(ingress)
	if !changed || len(status.LoadBalancer.Ingress) != 1 {
		t.Fatalf("an Ingress gets one address, got %+v", status)
	}
	ingress.Status = *status
	if _, changed := IngressStatus(ingress); changed {
		t.Error("a second look writes again")
	}
}

func TestVolumeFor(t *testing.T) {
	class := "gp3"
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data-db-0", Namespace: "example", UID: "u1"},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class,
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
	volume := VolumeFor(claim)
	if volume == nil || volume.Spec.ClaimRef.UID != claim.UID || volume.Spec.StorageClassName != class || volume.Spec.CSI.Driver != Provisioner {
		t.Fatalf("no volume that only this claim can take: %+v", volume)
	}
	if Reclaimable(volume) {
		t.Error("a new volume is not to be deleted")
	}
	volume.Status.Phase = corev1.VolumeReleased
	if !Reclaimable(volume) {
		t.Error("a volume whose claim is gone stays for ever")
	}
	volume.Annotations = nil
	if Reclaimable(volume) {
		t.Error("a volume of somebody else would be deleted")
	}
	claim.Spec.VolumeName = "mine"
	if VolumeFor(claim) != nil {
		t.Error("a claim that asks for a volume by name gets another")
	}
}

func TestAddressesStayInTheirRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		uid := types.UID(rapid.String().Draw(t, "uid"))
		if a := netip.MustParseAddr(podAddress(uid)); !podRange.Contains(a) || a == podRange.Addr() {
			t.Fatalf("Pod address %s is not a host of %s", a, podRange)
		}
		if a := netip.MustParseAddr(loadBalancerAddress(uid)); !loadBalancerRange.Contains(a) || a == loadBalancerRange.Addr() {
			t.Fatalf("load balancer address %s is not a host of %s", a, loadBalancerRange)
		}
	})
}
