package main

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/access/credentials"
)

func newAuth() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "auth",
		Short: "Who may do what: the deployment's authority, identities and rules",
		Long: `Looks after who may do what. One authority per deployment (a fleet with its base
station) signs the certificates by which programs and servers know each other; rules
say what an identity may read, write, subscribe to and administer. docs/security.md
explains it, from two robots and a base station to a stolen laptop.

  engram auth init --deployment lab
  engram auth add robot1 --server
  engram auth add planner
  engram auth rule add allow read,subscribe --to planner --on Object
  engram serve --credentials robot1.credentials --access access.yaml

All files are in one folder, which should be on a computer that is no robot: whoever
has the authority's key can be everyone. Servers need their credentials and the rules,
which they read again as soon as they change; programs need their credentials.`,
	}
	cmd.PersistentFlags().String("dir", "", "the authority's folder (default: $ENGRAM_AUTH, else engram/auth in the user's configuration)")
	cmd.PersistentFlags().String("access", "", "the file of rules (default: access.yaml in the authority's folder)")
	cmd.AddCommand(newAuthInit(), newAuthAdd(), newAuthLs(), newAuthRotate(), newAuthRevoke(), newAuthRule(), newAuthCheck())
	return cmd
}

// authFolder returns the authority's folder.
func authFolder(cmd *cobra.Command) (credentials.Folder, error) {
	dir, _ := cmd.Flags().GetString("dir")
	if dir = cmp.Or(dir, os.Getenv("ENGRAM_AUTH")); dir == "" {
		config, err := os.UserConfigDir()
		if err != nil {
			return credentials.Folder{}, usagef("say where the authority is with --dir: %w", err)
		}
		dir = filepath.Join(config, "engram", "auth")
	}
	return credentials.Folder{Dir: dir}, nil
}

// rulesFile returns the file of rules.
func rulesFile(cmd *cobra.Command) (string, error) {
	if file, _ := cmd.Flags().GetString("access"); file != "" {
		return file, nil
	}
	folder, err := authFolder(cmd)
	return folder.RulesFile(), err
}

func addValidFlag(cmd *cobra.Command, usage string) {
	cmd.Flags().Duration("valid", 0, usage)
}

// validity returns what --valid says, or d.
func validity(cmd *cobra.Command, d time.Duration) (time.Duration, error) {
	v, _ := cmd.Flags().GetDuration("valid")
	if v < 0 || v == 0 && cmd.Flags().Changed("valid") {
		return 0, usagef("--valid %v: more than 0, such as 720h", v)
	}
	return cmp.Or(v, d), nil
}

func newAuthInit() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "init",
		Short:   "Make the authority of a new deployment",
		Example: `  engram auth init --deployment lab --dir ~/lab-authority`,
		Args:    positional(cobra.NoArgs),
	}
	cmd.Flags().String("deployment", "engram", "the deployment's name")
	addValidFlag(cmd, "how long the authority is valid (default 10 years)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		folder, err := authFolder(cmd)
		if err != nil {
			return err
		}
		valid, err := validity(cmd, credentials.AuthorityValid)
		if err != nil {
			return err
		}
		name, _ := cmd.Flags().GetString("deployment")
		if err := folder.Init(name, valid); err != nil {
			return err
		}
		cmd.PrintErrf("The authority of %s is in %s. Keep the folder off the robots, and have a copy of it.\nNext: 'engram auth add NAME --server' for each server, 'engram auth add NAME' for programs.\n", visible(name), folder.Dir)
		return nil
	}
	return cmd
}

func newAuthAdd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Make credentials for an identity",
		Long: `Makes a certificate and its key for an identity and writes them, with the authority's
certificate, to a file that only this user may read. Bring it to where the program
runs; $ENGRAM_CREDENTIALS or --credentials names it there.

With --server the certificate is a server's: programs believe it to be one, and other
servers let it join the backbone. --serve says which memories it may serve, --hold of
which others it may hold copies, as ROBOT:MEMORY, where * stands for any characters:
programs and other servers then believe it to serve nothing else, whatever it
announces. Without --serve it is believed to serve any memory of any robot.`,
		Example: `  engram auth add robot1 --server --serve 'robot1:*'
  engram auth add base --server --serve 'base:*' --hold 'robot*:*'
  engram auth add planner --valid 720h --out planner.credentials`,
		Args: positional(cobra.ExactArgs(1)),
	}
	cmd.Flags().Bool("server", false, "the identity is that of a server")
	addServingFlags(cmd)
	cmd.Flags().String("out", "", "the file of credentials (default: NAME.credentials in the authority's folder)")
	addValidFlag(cmd, "how long they are valid (default 1 year)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		isServer, _ := cmd.Flags().GetBool("server")
		serving, err := servingOf(cmd, credentials.Serving{})
		if err != nil {
			return err
		}
		return issue(cmd, credentials.Order{Identity: access.Identity(args[0]), Server: isServer, Serving: serving})
	}
	return cmd
}

// addServingFlags adds the flags that say what a server may serve.
func addServingFlags(cmd *cobra.Command) {
	cmd.Flags().StringSlice("serve", nil, "the memories that the server may serve, as ROBOT:MEMORY, such as 'robot1:*'; may be repeated")
	cmd.Flags().StringSlice("hold", nil, "the other memories that it may hold copies of, as 'robot*:*'; may be repeated")
}

// servingOf returns what the flags say, and where they say nothing what was before.
func servingOf(cmd *cobra.Command, before credentials.Serving) (credentials.Serving, error) {
	if cmd.Flags().Changed("serve") {
		before.Own, _ = cmd.Flags().GetStringSlice("serve")
	}
	if cmd.Flags().Changed("hold") {
		before.Copies, _ = cmd.Flags().GetStringSlice("hold")
	}
	if err := before.Check(); err != nil {
		return before, usagef("--serve, --hold: %w", err)
	}
	return before, nil
}

// issue makes the credentials that are ordered, as long valid and where the flags say,
// and says where they are.
func issue(cmd *cobra.Command, o credentials.Order) error {
	id := o.Identity
	if err := access.CheckIdentity(string(id)); err != nil {
		return usagef("%w", err)
	}
	if !o.Server && !o.Serving.All() {
		return usagef("--serve and --hold are about servers; %s is a program's identity (--server makes one of a server)", id)
	}
	folder, err := authFolder(cmd)
	if err != nil {
		return err
	}
	if o.Valid, err = validity(cmd, credentials.Valid); err != nil {
		return err
	}
	o.File, _ = cmd.Flags().GetString("out")
	o.File = cmp.Or(o.File, folder.CredentialsFile(id))
	made, err := folder.Issue(o)
	if err != nil {
		return err
	}
	cmd.PrintErrf("The credentials of %s are in %s, valid until %s. They are secret: copy them over a safe way.\n", id, o.File, made.Until.Format(time.DateOnly))
	if o.Server && o.Serving.All() {
		cmd.PrintErrf("Whoever has them may serve any memory of any robot; bind them to what the server serves: 'engram auth rotate %s --serve ROBOT:MEMORY'.\n", id)
	}
	return nil
}

func newAuthRotate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rotate NAME",
		Short: "Make new credentials for an identity",
		Long: `Makes new credentials for an identity that has some. The old ones stay valid until they
expire, so that there is time to bring the new ones to where they are needed; servers
and programs take a file that was replaced for their next connections, without a
restart. --revoke-old ends the old ones at once. What a server may serve stays as it
was, unless --serve and --hold say otherwise.`,
		Args: positional(cobra.ExactArgs(1)),
	}
	cmd.Flags().String("out", "", "the file of credentials (default: NAME.credentials in the authority's folder)")
	cmd.Flags().Bool("revoke-old", false, "revoke the identity's other certificates")
	addServingFlags(cmd)
	addValidFlag(cmd, "how long they are valid (default 1 year)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		folder, err := authFolder(cmd)
		if err != nil {
			return err
		}
		id := access.Identity(args[0])
		last, err := folder.Latest(id)
		if err != nil {
			return err
		}
		old, err := folder.Issued()
		if err != nil {
			return err
		}
		serving, err := servingOf(cmd, last.Serving)
		if err != nil {
			return err
		}
		if err := issue(cmd, credentials.Order{Identity: id, Server: last.Server, Serving: serving, Again: true}); err != nil {
			return err
		}
		if revoke, _ := cmd.Flags().GetBool("revoke-old"); !revoke {
			return nil
		}
		return editRules(cmd, func(text []byte) ([]byte, error) {
			p, err := access.Parse(text)
			if err != nil {
				return nil, err
			}
			table, err := access.Compile(p)
			for _, i := range old {
				if err == nil && i.Identity == id && time.Now().Before(i.Until) && table.Revoked("", i.Serial) == nil {
					text, err = access.AddRevocation(text, access.Revocation{Serial: i.Serial, At: today(), Why: "rotated: " + string(id)})
				}
			}
			return text, err
		})
	}
	return cmd
}

func today() string { return time.Now().UTC().Format("2006-01-02 15:04") }

// editRules changes the file of rules.
func editRules(cmd *cobra.Command, change func(text []byte) ([]byte, error)) error {
	file, err := rulesFile(cmd)
	if err != nil {
		return err
	}
	text, err := access.ReadFile(file, true)
	if err == nil {
		text, err = change(text)
	}
	if err != nil {
		return inFile(file, err)
	}
	return access.WriteFile(file, text)
}

func newAuthRevoke() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "revoke NAME",
		Short: "Take all rights from an identity, or from one of its certificates",
		Long: `Notes in the file of rules that an identity has no rights any more: its connections
and streams are cut where the file is in force, within a second. Bring the file to all
servers. With --serial only that certificate of it is revoked: a serial that 'engram auth
ls' lists, or as much of its beginning as is no other's. That needs the authority's list
of certificates.`,
		Example: `  engram auth revoke old-laptop --why stolen
  engram auth revoke planner --serial 5f3a9c`,
		Args: positional(cobra.ExactArgs(1)),
	}
	cmd.Flags().String("serial", "", "only the certificate whose serial this is, or begins with this")
	cmd.Flags().String("why", "", "the reason, which is noted")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		why, _ := cmd.Flags().GetString("why")
		r := access.Revocation{Identity: access.Identity(args[0]), At: today(), Why: why}
		if r.Identity == access.Owner {
			return usagef("the user whom a server runs as cannot be revoked")
		}
		add := func(text []byte) ([]byte, error) { return access.AddRevocation(text, r) }
		if serial, _ := cmd.Flags().GetString("serial"); cmd.Flags().Changed("serial") {
			i, err := issuedOf(cmd, r.Identity, serial)
			if err != nil {
				return err
			}
			r.Serial, r.Identity = i.Serial, ""
			if err := editRules(cmd, add); err != nil {
				return err
			}
			cmd.PrintErrf("The certificate %s of %s, which is valid until %s, is revoked.\n", i.Serial, i.Identity, i.Until.Format(time.DateOnly))
			return nil
		}
		if err := editRules(cmd, add); err != nil {
			return err
		}
		return noteNotIssued(cmd, r.Identity)
	}
	return cmd
}

// issuedOf returns the certificate of an identity whose serial begins as is told.
func issuedOf(cmd *cobra.Command, id access.Identity, serial string) (found credentials.Issued, err error) {
	begins := strings.TrimLeft(strings.ToLower(strings.ReplaceAll(serial, ":", "")), "0")
	if begins == "" || strings.Trim(begins, "0123456789abcdef") != "" {
		return found, usagef("--serial %s: no serial of a certificate, in hexadecimal digits", serial)
	}
	folder, err := authFolder(cmd)
	if err != nil {
		return found, err
	}
	if _, err := folder.Authority(); err != nil {
		return found, err
	}
	list, err := folder.Issued()
	if err != nil {
		return found, err
	}
	list = slices.DeleteFunc(list, func(i credentials.Issued) bool {
		return i.Identity != id || !strings.HasPrefix(i.Serial, begins)
	})
	switch len(list) {
	case 0:
		return found, engram.Errorf(engram.NotFound, serial, "this authority has issued no certificate of %s whose serial begins so; 'engram auth ls' lists them", id)
	case 1:
		return list[0], nil
	}
	return found, engram.Errorf(engram.Invalid, serial, "the serials of %d certificates of %s begin so; give more of it", len(list), id)
}

// noteNotIssued says if the authority has issued nothing to an identity that was revoked,
// which may be mistyped.
func noteNotIssued(cmd *cobra.Command, id access.Identity) error {
	folder, err := authFolder(cmd)
	if err != nil {
		return err
	}
	if _, err := folder.Authority(); err != nil || strings.Contains(string(id), ":") {
		return nil // rules may be edited elsewhere, and uid:1000 has no certificate
	}
	list, err := folder.Issued()
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(list, func(i credentials.Issued) bool { return i.Identity == id }) {
		cmd.PrintErrf("engram: noted, but this authority has issued no certificate of %s; 'engram auth ls' lists them\n", id)
	}
	return nil
}

// issuedJSON is a certificate as auth ls prints it.
type issuedJSON struct {
	credentials.Issued
	State string `json:"state"`
}

func newAuthLs() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the certificates that the authority has issued",
		Args:  positional(cobra.NoArgs),
	}
	printing(cmd, func(cmd *cobra.Command, _ []string, format string) error {
		folder, err := authFolder(cmd)
		if err != nil {
			return err
		}
		if _, err := folder.Authority(); err != nil {
			return err
		}
		list, err := folder.Issued()
		if err != nil {
			return err
		}
		_, rules, err := readRules(cmd)
		if err != nil {
			return err
		}
		out := &table{header: []string{"IDENTITY", "KIND", "UNTIL", "STATE", "SERIAL", "SERVES"}}
		var objects []issuedJSON
		for _, i := range list {
			is := "valid"
			switch {
			case rules.Revoked(i.Identity, i.Serial) != nil:
				is = "revoked"
			case time.Now().After(i.Until):
				is = "expired"
			}
			kind, serves := "program", ""
			if i.Server {
				kind, serves = "server", i.Serving.String()
			}
			out.add(string(i.Identity), kind, i.Until.Format(time.DateOnly), state(is), i.Serial, serves)
			objects = append(objects, issuedJSON{i, is})
		}
		return print(cmd.OutOrStdout(), format, out, objects)
	})
	return cmd
}
