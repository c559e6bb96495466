package idf

import (
	"fmt"
	"strings"
	"unicode"

	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// PrintProto returns the .proto text of the file in which the type is defined,
// which compiles to the same type: the way from XML to .proto. Options of
// extensions that only the file itself knows are left out.
func PrintProto(t *Type) string { return printFile(t.desc.ParentFile()) }

// PrintFiles returns the .proto texts of the type's file and of those it imports,
// by path, without the files that every [Registry] knows.
func PrintFiles(t *Type) map[string]string {
	texts := map[string]string{}
	for _, f := range printAll(t, func(f protoreflect.FileDescriptor) bool { return knownFiles()[f.Path()] != nil }) {
		texts[f.Path] = f.Text
	}
	return texts
}

// ProtoFile is the text of a .proto file.
type ProtoFile struct{ Path, Text string }

// PrintImports returns the .proto texts of the type's file and of all that it imports,
// each after its imports: with those that every [Registry] knows, but for protobuf's
// own, which every compiler has.
func PrintImports(t *Type) []ProtoFile {
	return printAll(t, func(f protoreflect.FileDescriptor) bool { return f.Package() == "google.protobuf" })
}

// printAll returns the texts of the type's file and of those it imports, each after its
// imports, without those that are left out and what only these import.
func printAll(t *Type, leftOut func(protoreflect.FileDescriptor) bool) (files []ProtoFile) {
	seen := map[string]bool{}
	var add func(f protoreflect.FileDescriptor)
	add = func(f protoreflect.FileDescriptor) {
		if seen[f.Path()] || leftOut(f) {
			return
		}
		seen[f.Path()] = true
		for i := range f.Imports().Len() {
			add(f.Imports().Get(i).FileDescriptor)
		}
		files = append(files, ProtoFile{f.Path(), printFile(f)})
	}
	add(t.desc.ParentFile())
	return files
}

// protoPrinter writes the text of one file.
type protoPrinter struct {
	strings.Builder
	file   protoreflect.FileDescriptor
	names  map[protoreflect.FullName]bool // all that the file sees
	rooted bool                           // write the names of extensions from the root
	indent int
}

func printFile(f protoreflect.FileDescriptor) string {
	p := &protoPrinter{file: f, names: map[protoreflect.FullName]bool{}}
	p.see(f, map[string]bool{})
	for name := range p.names {
		// Something of that name may hide the package of IDF's options.
		p.rooted = p.rooted || name.Name() == "engram" && name != "engram"
	}
	if f.Syntax() == protoreflect.Editions {
		edition := strings.TrimPrefix(protodesc.ToFileDescriptorProto(f).GetEdition().String(), "EDITION_")
		p.line("edition = %q;", edition)
	} else {
		p.line("syntax = %q;", f.Syntax())
	}
	if f.Package() != "" {
		p.line("")
		p.line("package %s;", f.Package())
	}
	for i := range f.Imports().Len() {
		if i == 0 {
			p.line("")
		}
		imp := f.Imports().Get(i)
		public := ""
		if imp.IsPublic {
			public = "public "
		}
		p.line("import %s%s;", public, quoteProto(imp.Path()))
	}
	p.statements(f.Options(), true)
	for i := range f.Enums().Len() {
		p.line("")
		p.enum(f.Enums().Get(i))
	}
	for i := range f.Messages().Len() {
		p.line("")
		p.message(f.Messages().Get(i))
	}
	p.extensions(f.Extensions())
	for i := range f.Services().Len() {
		p.line("")
		p.service(f.Services().Get(i))
	}
	return p.String()
}

func (p *protoPrinter) line(format string, args ...any) {
	if format != "" {
		p.WriteString(strings.Repeat("  ", p.indent))
		fmt.Fprintf(p, format, args...)
	}
	p.WriteByte('\n')
}

// doc writes the comments that stand before a declaration.
func (p *protoPrinter) doc(d protoreflect.Descriptor) {
	loc := d.ParentFile().SourceLocations().ByDescriptor(d)
	for _, text := range []string{loc.LeadingComments, loc.TrailingComments} {
		if text = strings.TrimRight(text, "\n"); text != "" {
			for s := range strings.SplitSeq(text, "\n") {
				s = strings.Map(func(r rune) rune {
					if r != '\t' && unicode.IsControl(r) { // no compiler reads those
						return ' '
					}
					return r
				}, strings.TrimRight(s, "\r"))
				p.line("%s", strings.TrimRight("//"+s, " "))
			}
		}
	}
}

// see collects the names of a file and of those it sees through imports.
func (p *protoPrinter) see(f protoreflect.FileDescriptor, seen map[string]bool) {
	if seen[f.Path()] {
		return
	}
	seen[f.Path()] = true
	for pkg := f.Package(); pkg != ""; pkg = pkg.Parent() {
		p.names[pkg] = true
	}
	p.seeEnums(f.Enums())
	p.seeMessages(f.Messages())
	for i := range f.Extensions().Len() {
		p.names[f.Extensions().Get(i).FullName()] = true
	}
	for i := range f.Services().Len() {
		p.names[f.Services().Get(i).FullName()] = true
	}
	for i := range f.Imports().Len() {
		p.see(f.Imports().Get(i).FileDescriptor, seen)
	}
}

func (p *protoPrinter) seeMessages(mds protoreflect.MessageDescriptors) {
	for i := range mds.Len() {
		md := mds.Get(i)
		p.names[md.FullName()] = true
		for j := range md.Fields().Len() {
			p.names[md.Fields().Get(j).FullName()] = true
		}
		for j := range md.Oneofs().Len() {
			p.names[md.Oneofs().Get(j).FullName()] = true
		}
		p.seeEnums(md.Enums())
		p.seeMessages(md.Messages())
	}
}

func (p *protoPrinter) seeEnums(eds protoreflect.EnumDescriptors) {
	for i := range eds.Len() {
		ed := eds.Get(i)
		p.names[ed.FullName()] = true
		for j := range ed.Values().Len() {
			p.names[ed.Values().Get(j).FullName()] = true
		}
	}
}

// reference returns how a type is written within scope: as short as protobuf's
// search from the innermost scope outwards finds it.
func (p *protoPrinter) reference(name, scope protoreflect.FullName) string {
	for s := scope; s != ""; s = s.Parent() {
		if rest, ok := strings.CutPrefix(string(name), string(s)+"."); ok && p.finds(rest, scope, name) {
			return rest
		}
	}
	if p.finds(string(name), scope, name) {
		return string(name)
	}
	return "." + string(name)
}

// finds reports whether text written within scope means name.
func (p *protoPrinter) finds(text string, scope, name protoreflect.FullName) bool {
	first, _, _ := strings.Cut(text, ".")
	for s := scope; ; s = s.Parent() {
		prefix := ""
		if s != "" {
			prefix = string(s) + "."
		}
		if p.names[protoreflect.FullName(prefix+first)] {
			return prefix+text == string(name)
		}
		if s == "" {
			return false
		}
	}
}
