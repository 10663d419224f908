package wire

import (
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// negotiated offers the media types of another, with faster decoders for JSON.
type negotiated struct {
	runtime.NegotiatedSerializer
	types []runtime.SerializerInfo
}

func fasten(plain runtime.NegotiatedSerializer, lean bool) runtime.NegotiatedSerializer {
	types := append([]runtime.SerializerInfo(nil), plain.SupportedMediaTypes()...)
	for i, info := range types {
		if info.MediaType != runtime.ContentTypeJSON || info.StreamSerializer == nil {
			continue
		}
		types[i].Serializer = objects{Serializer: info.Serializer, lean: lean}
		stream := *info.StreamSerializer
		stream.Serializer = events{stream.Serializer}
		stream.Framer = framer{stream.Framer}
		types[i].StreamSerializer = &stream
	}
	return negotiated{NegotiatedSerializer: plain, types: types}
}

// SupportedMediaTypes implements runtime.NegotiatedSerializer.
func (n negotiated) SupportedMediaTypes() []runtime.SerializerInfo { return n.types }

// objects decodes answers, and what an event holds.
type objects struct {
	runtime.Serializer
	lean bool
}

// Decode implements runtime.Decoder.
func (o objects) Decode(data []byte, defaults *kschema.GroupVersionKind, into runtime.Object) (runtime.Object, *kschema.GroupVersionKind, error) {
	switch target := into.(type) {
	case *unstructured.Unstructured:
		if object, ok := decode(data, o.lean); ok && complete(object) {
			target.Object = object
			gvk := target.GroupVersionKind()
			return target, &gvk, nil
		}
	case *unstructured.UnstructuredList:
		if object, ok := decode(data, o.lean); ok && complete(object) && toList(object, target) {
			gvk := target.GroupVersionKind()
			return target, &gvk, nil
		}
	case nil:
		// A v1 Status is to come out as one; the other types of meta/v1 do not come alone. client-go takes a Status of any group for one, so that
		// nobody can watch a custom resource of that kind.
		if object, ok := decode(data, o.lean); ok && complete(object) && !(object["apiVersion"] == "v1" && object["kind"] == "Status") {
			found := &unstructured.Unstructured{Object: object}
			gvk := found.GroupVersionKind()
			return found, &gvk, nil
		}
	}
	return o.Serializer.Decode(data, defaults, into)
}

// complete tells whether an object says what it is.
func complete(object map[string]any) bool {
	kind, _ := object["kind"].(string)
	version, _ := object["apiVersion"].(string)
	return kind != "" && version != "" && strings.Count(version, "/") < 2
}

// toList moves the items of a list into it. Items that do not say what they are, are what the list is of.
func toList(object map[string]any, list *unstructured.UnstructuredList) bool {
	items, ok := object["items"].([]any)
	if !ok && object["items"] != nil {
		return false
	}
	decoded := make([]unstructured.Unstructured, len(items))
	for i, item := range items {
		content, ok := item.(map[string]any)
		if !ok {
			return false
		}
		decoded[i].Object = content
		if decoded[i].GetKind() == "" && decoded[i].GetAPIVersion() == "" {
			content["kind"] = strings.TrimSuffix(object["kind"].(string), "List")
			content["apiVersion"] = object["apiVersion"]
		}
	}
	delete(object, "items")
	list.Object, list.Items = object, decoded
	return true
}

// events decodes what frames hold: a type and the bytes of an object.
type events struct {
	runtime.Serializer
}

// Decode implements runtime.Decoder. The bytes of the object are part of data: the watch decodes them before it reads the next frame.
func (e events) Decode(data []byte, defaults *kschema.GroupVersionKind, into runtime.Object) (runtime.Object, *kschema.GroupVersionKind, error) {
	if event, ok := into.(*metav1.WatchEvent); ok && decodeEvent(data, event) {
		return event, &kschema.GroupVersionKind{Version: "v1", Kind: "WatchEvent"}, nil
	}
	return e.Serializer.Decode(data, defaults, into)
}

// framer cuts a stream into the events that it is made of.
type framer struct {
	runtime.Framer
}

// NewFrameReader implements runtime.Framer.
func (f framer) NewFrameReader(r io.ReadCloser) io.ReadCloser { return newFrames(r) }
