package graph

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Ids are variables of expressions and values of labels, so their form is narrow; a reserved word is either a keyword of
// CEL or has, or may get, a meaning of its own in kro.

var (
	idPattern     = regexp.MustCompile(`^[a-z][a-zA-Z0-9]*$`)
	kindPattern   = regexp.MustCompile(`^[A-Z][a-zA-Z0-9]{0,62}$`)
	apiPattern    = regexp.MustCompile(`^v[0-9]+(alpha[0-9]+|beta[0-9]+)?$`)
	pluralPattern = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)
)

var reservedWords = wordSet(
	// CEL
	"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let",
	"loop", "package", "namespace", "return", "var", "void", "while",
	// kro
	"apiVersion", "context", "dependency", "dependencies", "each", "externalRef", "externalReference", "externalRefs",
	"externalReferences", "graph", "instance", "item", "items", "kind", "kro", "metadata", "object",
	"resource", "resourcegraphdefinition", "resourceGraphDefinition", "resources", "root", "runtime", "schema", "self",
	"serviceAccountName", "spec", "status", "this", "variables", "vars", "version",
)

func wordSet(words ...string) map[string]bool {
	set := make(map[string]bool, len(words))
	for _, w := range words {
		set[w] = true
	}
	return set
}

// graphReservedWords are those of a Graph. It reserves less than a definition: whatever came from another place with ids
// of its own is not made to rename them. What it reserves beyond, graphengine, stays an id in definitions: 0.9 has always
// taken it, and the definitions that use it must go on.
var graphReservedWords = wordSet(
	// CEL
	"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let",
	"loop", "package", "namespace", "return", "var", "void", "while",
	// kro
	"apiVersion", "context", "each", "graph", "graphengine", "item", "items", "kind", "kro", "metadata", "object",
	"runtime", "self", "spec", "status", "this",
)

// reserved tells whether a name cannot be that of a node or an iterator.
func (c *compiler) reserved(name string) bool {
	if c.src.Door == GraphDoor {
		return graphReservedWords[name]
	}
	return reservedWords[name]
}

// graphIDPattern is that of ids in a Graph, which may begin with an upper-case letter.
var graphIDPattern = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9]*$`)

// wellFormed tells whether a name has the form of an id.
func (c *compiler) wellFormed(name string) bool {
	if c.src.Door == GraphDoor {
		return graphIDPattern.MatchString(name)
	}
	return idPattern.MatchString(name)
}

// form says what ids look like.
func (c *compiler) form() (rule, hint string) {
	if c.src.Door == GraphDoor {
		return "must be letters and digits, starting with a letter", "start with a letter and use letters and digits only"
	}
	return "must be lower camelCase", "start with a lower-case letter and use letters and digits only"
}

const namingConvention = "naming convention violation: "

const namingViolation = "failed to validate resourcegraphdefinition: " + namingConvention

// checkNames reports the names of the API and of all nodes that are malformed, reserved or taken, and fills the frames
// with the node that each id stands for: of two with the same id the first.
func (c *compiler) checkNames() {
	if api := c.src.API; api != nil {
		c.checkAPINames(api)
		c.checkCRDMetadata(api)
	}
	for _, d := range c.drafts {
		if d.void {
			continue
		}
		id := d.src.ID
		at := place{node: d.index, field: fieldID, path: d.path + ".id"}
		switch {
		case c.reserved(id):
			c.report(at, Diagnostic{Code: CodeName,
				Message: c.validating() + namingConvention + fmt.Sprintf("id %s is a reserved keyword in KRO", id),
				Hint:    booleanHint(id)})
		case !c.wellFormed(id):
			rule, hint := c.form()
			c.report(at, Diagnostic{Code: CodeName, Hint: hint,
				Message: c.validating() + namingConvention + fmt.Sprintf("id %s is not a valid KRO %s id: %s", id, d.noun, rule)})
		}
		f := c.frames[d.frame]
		if first, taken := f.names[id]; taken {
			c.report(at, Diagnostic{Code: CodeName,
				Message: c.validating() + namingConvention + fmt.Sprintf("found duplicate %s IDs %s", d.noun, id),
				Hint:    fmt.Sprintf("%s has it already", first.path)})
			continue
		}
		f.names[id], f.nodes = d, append(f.nodes, d)
	}
	for _, d := range c.drafts {
		c.checkIterators(d)
	}
}

func (c *compiler) checkAPINames(api *APISource) {
	if !kindPattern.MatchString(api.GVK.Kind) {
		c.reportAPI(fieldNames, "spec.schema.kind", Diagnostic{Code: CodeName,
			Message: namingViolation + fmt.Sprintf("kind '%s' is not a valid KRO kind name: must be UpperCamelCase", api.GVK.Kind),
			Hint:    "start with an upper-case letter and use at most 63 letters and digits"})
	}
	if !apiPattern.MatchString(api.GVK.Version) {
		c.reportAPI(fieldNames, "spec.schema.apiVersion", Diagnostic{Code: CodeName,
			Message: fmt.Sprintf("failed to validate resourcegraphdefinition: apiVersion %q is not a version", api.GVK.Version),
			Hint:    "write it like v1, v1beta1 or v1alpha1; the group is a field of its own"})
	}
	if api.Plural != "" && !pluralPattern.MatchString(api.Plural) {
		c.reportAPI(fieldNames, "spec.schema.plural", Diagnostic{Code: CodeName,
			Message: fmt.Sprintf("failed to validate resourcegraphdefinition: plural %q is not a DNS label (RFC 1035)", api.Plural),
			Hint:    "use lower-case letters, digits and dashes, starting with a letter"})
	}
	if problems := validation.IsDNS1123Subdomain(api.GVK.Group); len(problems) > 0 || !strings.Contains(api.GVK.Group, ".") {
		c.reportAPI(fieldNames, "spec.schema.group", Diagnostic{Code: CodeName,
			Message: fmt.Sprintf("failed to validate resourcegraphdefinition: group %q is not a domain name with at least one dot", api.GVK.Group),
			Hint:    "write it like example.com, in lower case"})
	}
	c.checkAliases("spec.schema.shortNames", api.ShortNames)
	c.checkAliases("spec.schema.categories", api.Categories)
	if api.Scope != apiextensionsv1.NamespaceScoped && api.Scope != apiextensionsv1.ClusterScoped {
		c.reportAPI(fieldNames, "spec.schema.scope", Diagnostic{Code: CodeShape,
			Message: fmt.Sprintf("failed to validate resourcegraphdefinition: scope %q is neither Namespaced nor Cluster", api.Scope)})
	}
}

// checkCRDMetadata reports labels and annotations, and printer columns, that the API server would refuse in the CRD.
func (c *compiler) checkCRDMetadata(api *APISource) {
	refuse := func(path, problem string) {
		c.reportAPI(fieldNames, path, Diagnostic{Code: CodeShape, Message: "failed to validate resourcegraphdefinition: " + problem})
	}
	for _, key := range sortedKeys(api.Labels) {
		path := joinField("spec.schema.metadata.labels", key)
		for _, problem := range validation.IsQualifiedName(key) {
			refuse(path, fmt.Sprintf("label %q: %s", key, problem))
		}
		for _, problem := range validation.IsValidLabelValue(api.Labels[key]) {
			refuse(path, fmt.Sprintf("label %q: %s", key, problem))
		}
	}
	for _, key := range sortedKeys(api.Annotations) {
		for _, problem := range validation.IsQualifiedName(strings.ToLower(key)) {
			refuse(joinField("spec.schema.metadata.annotations", key), fmt.Sprintf("annotation %q: %s", key, problem))
		}
	}
	for i, column := range api.Columns {
		path := joinIndex("spec.schema.additionalPrinterColumns", i)
		switch {
		case column.Name == "":
			refuse(path, "a printer column needs a name")
		case !slices.Contains(columnTypes, column.Type):
			refuse(path, fmt.Sprintf("printer column %q: type %q is none of %s", column.Name, column.Type, strings.Join(columnTypes, ", ")))
		case !strings.HasPrefix(column.JSONPath, "."):
			refuse(path, fmt.Sprintf("printer column %q: jsonPath %q must start with a dot, as in .status.state", column.Name, column.JSONPath))
		}
	}
}

var columnTypes = []string{"boolean", "date", "integer", "number", "string"}

func (c *compiler) checkAliases(path string, aliases []string) {
	for i, alias := range aliases {
		if !pluralPattern.MatchString(alias) {
			c.reportAPI(fieldNames, joinIndex(path, i), Diagnostic{Code: CodeName,
				Message: fmt.Sprintf("failed to validate resourcegraphdefinition: %q is not a DNS label (RFC 1035)", alias),
				Hint:    "use lower-case letters, digits and dashes, starting with a letter"})
		}
	}
}

// checkIterators reports the names of a node's forEach entries. Iterators are variables beside the ids, so they follow
// the same rules and must not hide one.
func (c *compiler) checkIterators(d *draft) {
	at := place{node: d.index, field: fieldForEach, path: d.path + ".forEach"}
	max := c.env.MaxDimensions
	if max <= 0 {
		max = 10
	}
	if n := len(d.src.ForEach); n > max {
		c.report(at, Diagnostic{Code: CodeShape,
			Message: fmt.Sprintf("%s%s %q: forEach cannot have more than %d dimensions, got %d", c.validating(), d.noun, d.name, max, n)})
	}
	seen := map[string]bool{}
	for i, entry := range d.src.ForEach {
		at.path = fmt.Sprintf("%s.forEach[%d]", d.path, i)
		at.ordinal = i
		if len(entry) != 1 {
			c.report(at, Diagnostic{Code: CodeShape,
				Message: fmt.Sprintf("%sfailed to parse forEach dimensions: an entry must have exactly one iterator, got %d", d.attempt(), len(entry)),
				Hint:    "write each iterator as an entry of its own: - name: ${list}"})
			continue
		}
		for name := range entry {
			if message := c.iteratorFault(d, name, seen); message != "" {
				d.badIterators = append(d.badIterators, name)
				c.report(at, Diagnostic{Code: CodeName, Hint: booleanHint(name),
					Message: fmt.Sprintf("%s%s %q: %s", c.validating(), d.noun, d.name, message)})
			}
			seen[name] = true
		}
	}
}

// yamlBooleanHint explains a boolean that nobody meant.
const yamlBooleanHint = "YAML reads the words y, n, yes, no, on and off as booleans; put them in quotes"

// booleanHint explains a name that nobody wrote.
func booleanHint(name string) string {
	if name == "true" || name == "false" {
		return yamlBooleanHint + ", or choose another name"
	}
	return "choose another name"
}

func (c *compiler) iteratorFault(d *draft, name string, seen map[string]bool) string {
	switch {
	case seen[name]:
		return fmt.Sprintf("duplicate forEach iterator name %q", name)
	case c.reserved(name):
		return fmt.Sprintf("forEach iterator name %q is a reserved keyword", name)
	case !c.wellFormed(name):
		rule, _ := c.form()
		if c.src.Door == DefinitionDoor {
			rule = "must be lowerCamelCase"
		}
		return fmt.Sprintf("forEach iterator name %q is not valid: %s", name, rule)
	case c.find(d.frame, name) != nil:
		return fmt.Sprintf("forEach iterator name %q conflicts with %s ID", name, d.noun)
	}
	return ""
}
