package simulator

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// Provisioner is the storage driver that simulated volumes name.
	Provisioner = "simulated"

	provisionedBy = "pv.kubernetes.io/provisioned-by"
)

// VolumeFor gives the PersistentVolume an external provisioner would make for a
// claim: of the size, modes and class asked for, and reserved for it, which makes
// the controller manager bind the two. It is nil for a claim that is bound, going
// or asks for a volume by name.
func VolumeFor(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolume {
	if claim.DeletionTimestamp != nil || claim.Spec.VolumeName != "" || claim.Status.Phase == corev1.ClaimBound {
		return nil
	}
	class := ""
	if claim.Spec.StorageClassName != nil {
		class = *claim.Spec.StorageClassName
	}
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name:        "simulated-" + string(claim.UID),
			Annotations: map[string]string{provisionedBy: Provisioner},
		},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: claim.Spec.Resources.Requests[corev1.ResourceStorage]},
			AccessModes:                   claim.Spec.AccessModes,
			VolumeMode:                    claim.Spec.VolumeMode,
			StorageClassName:              class,
			VolumeAttributesClassName:     claim.Spec.VolumeAttributesClassName,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim",
				Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: Provisioner, VolumeHandle: string(claim.UID)},
			},
		},
	}
}

// Reclaimable reports that a simulated volume has lost its claim. Its deletion
// is left to the provisioner by the controller manager.
func Reclaimable(volume *corev1.PersistentVolume) bool {
	return volume.Annotations[provisionedBy] == Provisioner && volume.Status.Phase == corev1.VolumeReleased && volume.DeletionTimestamp == nil
}
