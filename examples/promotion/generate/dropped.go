package main

import "time"

// dropped gives the six buckets of claims that were dropped. Two of the claims flip to stale when max_age_days goes from
// 30 to 14: the one of 19 days that was already promoted, and the one of 23 days below the threshold.
func dropped() []bucket {
	return []bucket{
		{verdict: "dropped", reason: "scope_mismatch", rows: scopeMismatches(), shape: shapeScopeMismatch},
		{verdict: "dropped", reason: "stale", rows: stale(), shape: shapeStale},
		{verdict: "dropped", reason: "already_promoted", rows: alreadyPromoted(), shape: shapeAlreadyPromoted},
		{verdict: "dropped", reason: "superseded", rows: superseded(), shape: shapeSuperseded},
		{verdict: "dropped", reason: "below_threshold", rows: belowThreshold(), shape: shapeBelowThreshold},
		{verdict: "dropped", reason: "uncorroborated_fact", answer: "fact", rows: uncorroborated(), shape: shapeUncorroborated},
	}
}

// Other members of a mismatched claim may call for another reason; scope is the first rule.
func shapeScopeMismatch(i int, f *fixture) {
	user, workspace := userOf(f.ClaimText)
	switch i % 3 {
	case 0:
		f.ClaimScope = scopeOf(user, 1+workspace%8) // the same user, elsewhere
	case 1:
		f.ClaimScope = scopeOf(user+8, workspace) // a colleague
	case 2:
		f.ClaimScope.ProjectID = []string{"p-atlas", "p-harbour", "p-meridian"}[i/3%3] // one project only
	}
	f.PromotedBefore = i%8 == 7
}

// Staleness comes before all that it can hide here: a promotion before, and both thresholds.
func shapeStale(i int, f *fixture) {
	f.PromotedBefore = i%6 == 4
	if i%4 == 1 {
		f.Score = percent(20 + pick(f.ClaimText, "low", 40))
	}
	if f.ClaimText == "Customer prefers email contact." {
		f.seed()
	}
}

// seed makes the fixture that the documentation shows.
func (f *fixture) seed() {
	decided := time.Date(2026, 2, 14, 9, 12, 0, 0, time.UTC)
	moved := decided.Sub(f.DecidedAt)
	f.SourceRowID, f.DecidedAt = "pq_88123", decided
	f.AcceptedAt, f.EventTime = f.AcceptedAt.Add(moved), f.EventTime.Add(moved)
	f.Scope = scopeOf(3391, 7)
	f.ClaimScope = f.Scope
	f.SourceType, f.OccurrenceCount = "email", 1
}

func shapeAlreadyPromoted(i int, f *fixture) {
	f.PromotedBefore = true
	if i%5 == 2 {
		f.OccurrenceCount = 1
	}
}

// A superseded claim loses by acceptance. Every second one claims that it happened after its rival, some of them even
// after the decision, and loses all the same (R6).
func shapeSuperseded(i int, f *fixture) {
	waited := f.DecidedAt.Sub(f.AcceptedAt)
	f.Competing.AcceptedAt = f.AcceptedAt.Add(waited * time.Duration(20+pick(f.ClaimText, "overtaken", 60)) / 100).Truncate(time.Second)
	f.Competing.EventTime = f.Competing.AcceptedAt.Add(-minutes(1 + pick(f.Competing.ClaimText, "event", 36*60)))
	if i == 5 {
		f.Competing.AcceptedAt = f.AcceptedAt // the same instant: what the memory holds stays
	}
	if i%2 == 0 {
		f.EventTime = f.Competing.EventTime.Add(days(1 + i*2))
	}
}

func shapeBelowThreshold(i int, f *fixture) {
	if i%3 != 1 {
		f.Score = percent(15 + pick(f.ClaimText, "low", 44))
	}
	if i%3 != 0 {
		f.OccurrenceCount = 1
	}
	if i == 0 {
		f.Score = 0.59 // just below
	}
}

// Facts seen twice, and facts seen often in copies of one source.
func shapeUncorroborated(i int, f *fixture) {
	if i%2 == 0 {
		f.OccurrenceCount = 2
	} else {
		f.DependencyGroup = dependencyGroup(f)
	}
}

func scopeMismatches() []row {
	return []row{
		{age: 3, claim: "Wants the Monday stand-up moved to ten o'clock."},
		{age: 52, claim: "The sandbox tenant is wiped every Sunday."},
		{age: 0, claim: "Uses two-factor codes from a hardware key in this project only."},
		{age: 11, claim: "The pilot in Graz runs without the loyalty module."},
		{age: 7, claim: "Prefers mock data for the demo."},
		{age: 29, claim: "Wants the launch date kept out of all external mail."},
		{age: 1, claim: "The regional lead signs off on discounts."},
		{age: 5, claim: "Asks for weekly burn-down charts."},
		{age: 14, claim: "The migration uses the blue-green cluster."},
		{age: 37, claim: "Likes the old logo on internal slides."},
		{age: 2, claim: "The tender is written in Dutch."},
		{age: 9, claim: "Wants the beta features switched on."},
		{age: 0, claim: "The workspace shares one label printer."},
		{age: 16, claim: "Prefers not to be listed in the directory."},
		{age: 4, claim: "Counts story points in Fibonacci numbers here."},
		{age: 8, claim: "The tenant's default language is Finnish."},
		{age: 66, claim: "Wants the retro held without managers."},
	}
}

func stale() []row {
	return []row{
		{age: 31, claim: "The reception moves to the ground floor next week."},
		{age: 45, claim: "Wants the old price list until the trade fair."},
		{age: 60, claim: "The interim contact for logistics is the Bremen office."},
		{age: 33, claim: "Prefers delivery before Christmas."},
		{age: 78, claim: "The lift in building A is out of service."},
		{age: 39, claim: "Is evaluating three vendors for the ticket system."},
		{age: 52, claim: "The headcount freeze lasts until year end."},
		{age: 94, claim: "Wants a reminder about the autumn conference."},
		{age: 36, claim: "The VPN client is version 5.1."},
		{age: 31, claim: "Travels to Singapore for the kick-off."},
		{age: 67, claim: "The invoice for October is disputed."},
		{age: 41, claim: "Customer prefers email contact."},
		{age: 48, claim: "The trial licence covers ten users."},
		{age: 88, claim: "Likes the summer menu at the Vienna venue."},
		{age: 34, claim: "The certificate of the test server has expired."},
		{age: 57, claim: "Asks to postpone the security questionnaire."},
		{age: 43, claim: "The spare parts are held up at customs."},
	}
}

func alreadyPromoted() []row {
	return []row{
		{age: 4, claim: "Wants all figures rounded to thousands."},
		{age: 0, claim: "The head office is in Antwerp."},
		{age: 12, claim: "Prefers written answers to calls."},
		{age: 7, claim: "The ERP freeze is in the last week of the quarter."},
		{age: 1, claim: "Wants the same consultant for every visit."},
		{age: 14, claim: "The brand colour is petrol."},
		{age: 3, claim: "Likes the printed catalogue."},
		{age: 19, claim: "The plant manager approves overtime."},
		{age: 9, claim: "Asks for data exports in UTC."},
		{age: 2, claim: "The Helsinki store opens at nine."},
		{age: 6, claim: "Prefers the train to a flight within Germany."},
		{age: 0, claim: "The master agreement is governed by Swiss law."},
		{age: 10, claim: "Wants duplicate contacts merged without asking."},
		{age: 5, claim: "The helpdesk hands over at 15:30."},
		{age: 13, claim: "Prefers metric screws in all drawings."},
		{age: 8, claim: "The data protection officer is external."},
		{age: 1, claim: "Wants the map view as the start page."},
	}
}

func superseded() []row {
	return []row{
		{age: 6, claim: "Wants the report on Mondays.", rival: "Wants the report on Wednesdays."},
		{age: 2, claim: "The account manager sits in Hamburg.", rival: "The account manager sits in Cologne."},
		{age: 11, claim: "Prefers phone calls in the morning.", rival: "Prefers phone calls after two o'clock."},
		{age: 4, claim: "The rollout starts in Belgium.", rival: "The rollout starts in the Netherlands."},
		{age: 9, claim: "The support plan is Silver.", rival: "The support plan is Gold."},
		{age: 1, claim: "Wants push notifications.", rival: "Wants no push notifications."},
		{age: 14, claim: "The build server runs Debian 12.", rival: "The build server runs Debian 13."},
		{age: 3, claim: "Prefers the blue theme.", rival: "Prefers the high-contrast theme."},
		{age: 8, claim: "The minimum order is 200 units.", rival: "The minimum order is 150 units."},
		{age: 5, claim: "The shop ships with PostNord.", rival: "The shop ships with Bring."},
		{age: 12, claim: "Wants two approvers for each payment.", rival: "Wants three approvers for each payment."},
		{age: 0, claim: "The review takes place in room Turing.", rival: "The review takes place in room Hopper."},
		{age: 7, claim: "The seminar is held in English.", rival: "The seminar is held in Italian."},
		{age: 2, claim: "Prefers single rooms at the Malmö hotel.", rival: "Prefers the hotel in Lund."},
		{age: 10, claim: "The retention period is six months.", rival: "The retention period is twelve months."},
		{age: 4, claim: "Wants backups kept in Frankfurt.", rival: "Wants backups kept in Paris."},
		{age: 13, claim: "The plant has four assembly lines.", rival: "The plant has five assembly lines."},
	}
}

func belowThreshold() []row {
	return []row{
		{age: 2, claim: "May want to switch to annual billing."},
		{age: 6, claim: "The Turin office might be hiring."},
		{age: 0, claim: "Possibly prefers aisle seats."},
		{age: 13, claim: "Seems to like shorter demos."},
		{age: 5, claim: "The printer on the second floor is slow."},
		{age: 1, claim: "Could be interested in the analytics add-on."},
		{age: 9, claim: "The parking garage may close for repairs."},
		{age: 23, claim: "Mentioned a colleague who knows Rust."},
		{age: 3, claim: "Thinks the font is too small, perhaps."},
		{age: 11, claim: "The courier was late once."},
		{age: 7, claim: "Was heard to dislike pop-up surveys."},
		{age: 4, claim: "The budget is said to be tight."},
		{age: 14, claim: "Might bring a guest to the opening."},
		{age: 0, claim: "The Bergen team could move offices."},
		{age: 10, claim: "Wondered about a partner discount."},
		{age: 8, claim: "Perhaps wants the chat widget removed."},
	}
}

func uncorroborated() []row {
	return []row{
		{age: 1, claim: "The competitor lowers its prices in May."},
		{age: 5, claim: "The Gdańsk site has passed its fire inspection."},
		{age: 0, claim: "The board has approved the merger."},
		{age: 12, claim: "The turbines are delivered in week 21."},
		{age: 3, claim: "The library has 18,000 digitised volumes."},
		{age: 7, claim: "The chief architect leaves in the summer."},
		{age: 14, claim: "The bridge can carry forty tonnes."},
		{age: 2, claim: "The subsidiary in Tallinn is debt free."},
		{age: 9, claim: "The new scanner reads Aztec codes."},
		{age: 4, claim: "The hospital group will standardise on one vendor."},
		{age: 10, claim: "The well at the Évora site is dry."},
		{age: 0, claim: "The outage was caused by a switch in rack 7."},
		{age: 6, claim: "The grant covers half of the heating."},
		{age: 13, claim: "The ferry line is sold to a Greek operator."},
		{age: 8, claim: "The vineyard is certified organic."},
		{age: 11, claim: "The pension fund holds no coal."},
	}
}
