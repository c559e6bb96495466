package ltm

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/policy"
)

// Labels of an episode that tell which entities of it were thinned, and of which all
// went but what something keeps; one ID in a line.
const (
	labelThinned = "thinned"
	labelReduced = "reduced"
)

// retention finds what the policies, and a full disk, want to be gone.
type retention struct {
	*env
	policies *policies
	state    *state
	account  *account
	disk     *disk
	keeper   *keeper
}

// due is what the policies want to be gone of one episode.
type due struct {
	name    string
	drops   map[engram.ID]string // the causes, by entity
	thinned map[engram.ID]bool
}

// forgetDue forgets what the policies want to be gone by now, one episode at a time.
func (f *forgetter) forgetDue(ctx context.Context, dryRun bool, progress Progress) (Forgotten, error) {
	var done forgetResult
	if err := f.forgetting.lock(ctx); err != nil {
		return done.forgotten, err
	}
	defer f.forgetting.unlock()
	list, err := f.retention.whatIsDue(ctx)
	if err != nil {
		return done.forgotten, err
	}
	kept := f.keeper.keptThings()
	if len(list) > 0 {
		err = f.keeper.withLinks(ctx, kept)
	}
	if err != nil {
		return done.forgotten, err
	}
	if !dryRun {
		f.health.set("protecting what is linked", kept.cut)
	}
	failed, err := f.forgetEach(ctx, list, kept, dryRun, &done, progress)
	done.finish()
	if dryRun {
		return done.forgotten, err
	}
	if err == nil {
		f.health.setAll(forgettingFrom, failed)
		err = f.account.save()
	}
	f.ledger.noteForgetting(ctx, &done, nil, "as the policies say", "", nil)
	return done.forgotten, err
}

// forgettingFrom begins, in the store's health, what fails of an episode.
const forgettingFrom = "forgetting from "

// forgetEach forgets what is due of each episode, or looks what that is, and adds it to
// done, also if it is given up. It returns what failed, by episode.
func (f *forgetter) forgetEach(ctx context.Context, list []due, kept *keptThings, dryRun bool, done *forgetResult, progress Progress) (failed map[string]error, err error) {
	failed = map[string]error{}
	for i := range list {
		progress.Tell(i, len(list))
		plan, err := f.retention.duePlan(ctx, &list[i], kept)
		var c cut
		switch {
		case err != nil:
		case dryRun:
			c, err = f.folder.surveyEpisode(ctx, list[i].name, plan)
		default:
			c, err = f.folder.cutEpisode(ctx, list[i].name, plan)
		}
		switch code := engram.CodeOf(err); {
		case code == engram.Canceled:
			return failed, err
		case code == engram.NotFound: // it was dropped meanwhile
		case err != nil:
			failed[list[i].name] = err // the others go on
		case dryRun:
			done.add(c)
		default:
			f.count(done, c)
		}
	}
	progress.Tell(len(list), len(list))
	return failed, nil
}

// whatIsDue returns what the policies want to be gone, by episode.
func (r *retention) whatIsDue(ctx context.Context) ([]due, error) {
	need, err := r.diskNeed()
	if err != nil {
		return nil, err
	}
	portions, err := r.portions(ctx, need > 0)
	if err != nil || len(portions) == 0 {
		return nil, err
	}
	now := r.options.Now()
	byName := map[string]*due{}
	of := func(p *policy.Portion) *due {
		d := byName[p.Episode]
		if d == nil {
			d = &due{p.Episode, map[engram.ID]string{}, map[engram.ID]bool{}}
			byName[p.Episode] = d
		}
		return d
	}
	for _, drop := range policy.Expired(now, portions, r.policies.Of) {
		p := &portions[drop.Portion]
		of(p).drops[p.Entity] = drop.Why
		need -= p.Bytes
		p.Protected = true // it goes already
	}
	for _, drop := range policy.Victims(now, need, portions, r.policies.Of) {
		p := &portions[drop.Portion]
		of(p).drops[p.Entity] = drop.Why
		p.Protected = true
	}
	for _, drop := range policy.Due(now, portions, r.policies.Of) {
		p := &portions[drop.Portion]
		of(p).thinned[p.Entity] = true
	}
	list := make([]due, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		list = append(list, *byName[name])
	}
	return list, nil
}

// diskNeed returns how many bytes are to become free so that the disk is below its
// limit. What fills the disk may not be ours: then that is said, and a part stays.
func (r *retention) diskNeed() (int64, error) {
	const what = "the disk"
	total, free, err := r.options.FS.Space(r.options.Dir)
	if err != nil {
		r.health.set(what, err)
		return 0, nil // what else is due goes on
	}
	limit := uint64(r.options.DiskLimit * float64(total))
	used := total - min(free, total)
	if used <= limit || total == 0 {
		r.health.set(what, nil)
		return 0, nil
	}
	// A little more, so that it is not begun anew at once.
	need := int64(used - limit + total/100)
	var ours int64
	for _, h := range r.disk.episodes.all() {
		ours += h.current().Bytes
	}
	// The last hundredth of the disk is left to what is remembered.
	can := max(0, ours-int64(total/100))
	if can < need {
		r.health.set(what, engram.Errorf(engram.Exhausted, r.options.Dir,
			"%.0f %% of it is in use, and of that only %d MB are episodes: free space, or raise the limit of %.0f %% (--disk-limit)",
			100*float64(used)/float64(total), ours/1e6, 100*r.options.DiskLimit))
	} else {
		r.health.set(what, nil)
	}
	return min(need, can), nil
}

// portions returns what the sealed episodes hold of the core segments from which
// something may be forgotten; of all of them if the disk is full.
func (r *retention) portions(ctx context.Context, full bool) ([]policy.Portion, error) {
	now := r.options.Now()
	marked := r.keeper.keptThings()
	labels := map[string]map[string]map[engram.ID]bool{}
	labelled := func(name, label string, id engram.ID) bool {
		if labels[name] == nil {
			labels[name] = map[string]map[engram.ID]bool{}
			if h, ok := r.disk.episodes.get(name); ok {
				labels[name][labelThinned] = parseIDs(h.info.Labels[labelThinned])
				labels[name][labelReduced] = parseIDs(h.info.Labels[labelReduced])
			}
		}
		return labels[name][label][id]
	}
	kept := map[string]bool{}
	for _, name := range r.state.content().Kept {
		kept[name] = true
	}
	var portions []policy.Portion
	err := r.disk.each(ctx, engram.ID{}, func(id engram.ID) error {
		p := r.policies.Of(id)
		if !full && p.Keep == (policy.Retention{}) && p.Thin.After == 0 {
			return nil
		}
		holdings, err := r.disk.catalogue.Holdings(ctx, id)
		if err != nil {
			return err
		}
		for _, h := range holdings.All() {
			if _, sealed := r.disk.episodes.get(h.Episode); !sealed {
				continue
			}
			portions = append(portions, policy.Portion{
				Episode: h.Episode, Entity: id, Span: h.Span, Arrived: h.Arrived,
				Snapshots: int(h.Snapshots - min(h.InForce, h.Snapshots)), Bytes: h.Bytes,
				Protected: kept[h.Episode] || labelled(h.Episode, labelReduced, id) || marked.coversAll(h.Span) ||
					r.account.isRecalledOften(h.Episode, id, now),
				Thinned: labelled(h.Episode, labelThinned, id),
			})
		}
		return ctx.Err()
	})
	return portions, err
}

// coversAll reports whether one mark keeps a whole span.
func (k *keptThings) coversAll(iv engram.Interval) bool {
	return slices.ContainsFunc(k.spans, func(m engram.Interval) bool { return m.Start <= iv.Start && iv.End <= m.End })
}

// duePlan says what goes of an episode.
func (r *retention) duePlan(ctx context.Context, d *due, kept *keptThings) (cutPlan, error) {
	plan := cutPlan{entities: map[engram.ID]*entityCut{}, labels: map[string]string{}}
	for id, cause := range d.drops {
		plan.entities[id] = &entityCut{cause: cause, goes: func(v *engram.Snapshot, _ uint64) verdict {
			if kept.keeps(id, v.Time) {
				return isProtected
			}
			return goes
		}}
	}
	for id := range d.thinned {
		stay, cause, err := r.thin(ctx, d.name, id, kept)
		if err != nil {
			return plan, err
		}
		plan.entities[id] = &entityCut{cause: cause, goes: func(v *engram.Snapshot, _ uint64) verdict {
			if stay[v.Time] {
				return stays
			}
			return goes
		}}
	}
	h, ok := r.disk.episodes.get(d.name)
	if !ok {
		return plan, engram.Errorf(engram.NotFound, d.name, "the episode was dropped meanwhile")
	}
	for label, ids := range map[string][]engram.ID{
		labelThinned: slices.Collect(maps.Keys(d.thinned)), labelReduced: slices.Collect(maps.Keys(d.drops)),
	} {
		if len(ids) > 0 {
			plan.labels[label] = printIDs(parseIDs(h.info.Labels[label]), ids)
		}
	}
	return plan, nil
}

func parseIDs(text string) map[engram.ID]bool {
	ids := map[engram.ID]bool{}
	for line := range strings.Lines(text) {
		if id, err := engram.Parse(strings.TrimSuffix(line, "\n")); err == nil {
			ids[id] = true
		}
	}
	return ids
}

// printIDs prints IDs so that parseIDs reads them.
func printIDs(ids map[engram.ID]bool, more []engram.ID) string {
	for _, id := range more {
		ids[id] = true
	}
	var b strings.Builder
	for _, id := range slices.SortedFunc(maps.Keys(ids), engram.ID.Compare) {
		b.WriteString(id.String() + "\n")
	}
	return b.String()
}
