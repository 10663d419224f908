package main

import "kro.run/kro/test/bench/client"

// The bodies of the floor's writes: as long as those of a controller that keeps an inventory and labels its objects.

func floorMetadata(instance client.Item) map[string]any {
	return map[string]any{
		"apiVersion": floors.GroupVersion().String(), "kind": "BenchFloor",
		"metadata": map[string]any{
			"name": instance.Metadata.Name, "uid": instance.Metadata.UID,
			"labels": map[string]any{
				"applyset.kubernetes.io/id":                  "applyset-pII89pbr4RmmqhJ-_v8C3xxaRTIMV-K8-4I9Tv4dHX4-v1",
				"kro.run/kro-version":                        "devel",
				"kro.run/resource-graph-definition-id":       instance.Metadata.UID,
				"kro.run/resource-graph-definition-name":     "bench-floor",
				"bench.kro.run/in-place-of-the-owned-marker": "true",
			},
			"annotations": map[string]any{
				"applyset.kubernetes.io/contains-group-kinds":   "ConfigMap,Deployment.apps,Service",
				"applyset.kubernetes.io/additional-namespaces":  "",
				"applyset.kubernetes.io/tooling":                "kro/devel",
				"internal.kro.run/applyset-inventory-hash":      "sha256:47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU",
				"bench.kro.run/in-place-of-the-kro-annotations": "",
			},
		},
	}
}

func floorMeta(instance client.Item, node, order string) map[string]any {
	return map[string]any{
		"name": instance.Metadata.Name,
		"labels": map[string]any{
			"app.kubernetes.io/managed-by":               "bench",
			"applyset.kubernetes.io/part-of":             "applyset-pII89pbr4RmmqhJ-_v8C3xxaRTIMV-K8-4I9Tv4dHX4-v1",
			"bench.kro.run/in-place-of-the-owned-marker": "true",
			"kro.run/instance-group":                     floors.Group,
			"kro.run/instance-id":                        instance.Metadata.UID,
			"kro.run/instance-kind":                      "BenchFloor",
			"kro.run/instance-name":                      instance.Metadata.Name,
			"kro.run/instance-namespace":                 instance.Metadata.Namespace,
			"kro.run/instance-version":                   floors.Version,
			"kro.run/kro-version":                        "devel",
			"kro.run/node-id":                            node,
		},
		"annotations": map[string]any{"internal.kro.run/apply-order": order},
	}
}

func floorConfigMap(instance client.Item) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": floorMeta(instance, "config", "0"),
		"data": map[string]any{"value": "first"},
	}
}

func floorDeployment(instance client.Item) map[string]any {
	meta := floorMeta(instance, "deployment", "1")
	meta["annotations"].(map[string]any)[revisionAnnotation] = "1"
	app := map[string]any{"app": instance.Metadata.Name}
	return map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta,
		"spec": map[string]any{
			"replicas": 1, "selector": map[string]any{"matchLabels": app},
			"template": map[string]any{
				"metadata": map[string]any{"labels": app},
				"spec": map[string]any{"containers": []any{map[string]any{
					"name": "main", "image": "registry.example.com/app:1",
					"env": []any{map[string]any{"name": "VALUE", "value": "first"}},
				}}},
			},
		},
	}
}

func floorService(instance client.Item) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Service", "metadata": floorMeta(instance, "service", "2"),
		"spec": map[string]any{
			"selector": map[string]any{"app": instance.Metadata.Name},
			"ports":    []any{map[string]any{"port": 80, "targetPort": 8080}},
		},
	}
}

func floorStatus(instance client.Item) map[string]any {
	var conditions []any
	for _, name := range []string{"InstanceManaged", "GraphResolved", "ResourcesReady", "Ready"} {
		conditions = append(conditions, map[string]any{
			"type": name, "status": "True", "reason": "AllResourcesReady", "message": "all resources are created and ready",
			"lastTransitionTime": "2026-08-19T10:00:00Z", "observedGeneration": 1,
		})
	}
	return map[string]any{"status": map[string]any{
		"state": active, "deployment": instance.Metadata.Name, "address": "10.96.0.1", "conditions": conditions,
	}}
}
