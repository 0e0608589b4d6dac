package main

import "fmt"

// promoted gives the two buckets of claims that were promoted. In each, the claims of more than 14 days are the ones
// that flip when max_age_days goes from 30 to 14: 8 preferences and 7 facts.
func promoted() []bucket {
	return []bucket{
		{verdict: "promoted", reason: "preference", answer: "preference", rows: preferences(), shape: shapePreference},
		{verdict: "promoted", reason: "fact", answer: "fact", rows: facts(), shape: shapeFact},
	}
}

func shapePreference(i int, f *fixture) {
	f.OccurrenceCount-- // a preference needs 2 observations, and they may depend on each other
	switch i % 5 {
	case 0:
		f.DependencyGroup = dependencyGroup(f)
	case 2:
		f.ClaimScope.WorkspaceID = "" // made by the user in no workspace in particular
	}
	if i == 0 {
		f.OccurrenceCount, f.Score = 2, 0.6 // exactly at both thresholds
	}
	loseRecency(i, f)
}

func shapeFact(i int, f *fixture) {
	if i%7 == 3 {
		f.ClaimScope.UserID = "" // true for the whole workspace
	}
	if i == 0 {
		f.OccurrenceCount, f.Score = 3, 0.6 // exactly at both thresholds
	}
	loseRecency(i, f)
}

// loseRecency dates some rivals after the claim: a rival that was accepted earlier loses, whatever its source says about
// when it happened (R6).
func loseRecency(i int, f *fixture) {
	if f.Competing != nil && i%2 == 1 {
		f.Competing.EventTime = f.EventTime.Add(days(1 + i))
	}
}

func dependencyGroup(f *fixture) *string {
	return ptr(fmt.Sprintf("dg_%04x", pick(f.ClaimText, "dependency", 1<<16)))
}

func preferences() []row {
	return []row{
		{age: 2, claim: "Prefers release notes as one weekly digest."},
		{age: 0, claim: "Wants invoices grouped by cost centre."},
		{age: 5, claim: "Asks for meeting summaries in German."},
		{age: 15, claim: "Prefers a call over a ticket when production is down."},
		{age: 1, claim: "Likes dashboards in dark mode."},
		{age: 9, claim: "Wants dates written day first.", rival: "Wants dates written as in ISO 8601."},
		{age: 14, claim: "Does not want to be contacted on Fridays."},
		{age: 3, claim: "Prefers bullet points to paragraphs in status reports."},
		{age: 0, claim: "Wants every quote in euros, VAT excluded."},
		{age: 22, claim: "Prefers the mobile app for approvals."},
		{age: 7, claim: "Asks that contract drafts arrive as DOCX, not PDF."},
		{age: 4, claim: "Likes to review copy before it goes to the print shop."},
		{age: 12, claim: "Wants alerts bundled outside office hours."},
		{age: 1, claim: "Prefers to be addressed by first name."},
		{age: 6, claim: "Wants temperatures shown in Celsius."},
		{age: 18, claim: "Prefers on-site training to webinars."},
		{age: 10, claim: "Asks for the agenda a day before each call."},
		{age: 2, claim: "Wants charts readable without colour.", rival: "Wants charts in the corporate red and green."},
		{age: 0, claim: "Prefers window seats on the Zürich route."},
		{age: 13, claim: "Does not want screenshots in tickets; text only."},
		{age: 8, claim: "Likes a short voice memo with every proposal."},
		{age: 30, claim: "Prefers delivery to the back entrance."},
		{age: 5, claim: "Wants pull requests split by module."},
		{age: 3, claim: "Prefers tabs to spaces in shared scripts."},
		{age: 11, claim: "Asks for vegetarian catering at workshops."},
		{age: 0, claim: "Wants the monthly figures before the 5th."},
		{age: 16, claim: "Prefers Teams to Zoom for reviews.", rival: "Prefers Zoom to Teams for reviews."},
		{age: 1, claim: "Likes the compact table layout."},
		{age: 6, claim: "Wants estimates as a range rather than one number."},
		{age: 9, claim: "Prefers British spelling in customer-facing text."},
		{age: 4, claim: "Wants a person, not a bot, to answer billing questions."},
		{age: 24, claim: "Prefers quarterly to monthly invoicing."},
		{age: 2, claim: "Asks to be copied on every shipping notice."},
		{age: 14, claim: "Wants search results sorted by date."},
		{age: 7, claim: "Prefers short answers with a link to the long one."},
		{age: 0, claim: "Likes reminders two days ahead, not on the day.", rival: "Likes reminders on the morning of the day."},
		{age: 10, claim: "Wants sample data in Swedish kronor."},
		{age: 5, claim: "Prefers the keyboard to the mouse in the planner."},
		{age: 28, claim: "Wants the newsletter paused over the summer."},
		{age: 3, claim: "Asks that holidays of Bavaria be respected in planning."},
		{age: 1, claim: "Prefers CSV exports with semicolons."},
		{age: 12, claim: "Wants incidents explained without acronyms."},
		{age: 8, claim: "Likes decisions recorded at the top of the notes."},
		{age: 20, claim: "Prefers recycled packaging even if it costs more."},
		{age: 0, claim: "Wants code samples in Kotlin.", rival: "Wants code samples in Java."},
		{age: 4, claim: "Prefers one long workshop to three short ones."},
		{age: 6, claim: "Does not want read receipts."},
		{age: 11, claim: "Wants captions on all training videos."},
		{age: 2, claim: "Prefers the 24-hour clock."},
		{age: 13, claim: "Asks for renewal offers at least sixty days ahead."},
	}
}

func facts() []row {
	return []row{
		{age: 1, claim: "The Lyon warehouse closes at 16:00 on Saturdays."},
		{age: 0, claim: "The team moved its repositories to a monorepo."},
		{age: 6, claim: "The account has 42 seats.", rival: "The account has 38 seats."},
		{age: 21, claim: "The finance system is SAP S/4HANA."},
		{age: 3, claim: "The data centre in Oslo runs on hydropower."},
		{age: 12, claim: "The procurement threshold for a second quote is 5,000 euros."},
		{age: 0, claim: "The new head of operations starts in April.", rival: "The new head of operations starts in May."},
		{age: 8, claim: "The mobile app supports iOS 17 and later."},
		{age: 2, claim: "The contract renews on the first of September."},
		{age: 14, claim: "The office in Kraków has no visitor parking."},
		{age: 5, claim: "The support team covers 07:00 to 19:00 Central European Time."},
		{age: 17, claim: "The customer's fiscal year ends in March."},
		{age: 1, claim: "The staging environment is rebuilt every night."},
		{age: 9, claim: "The sales region Iberia includes Andorra."},
		{age: 4, claim: "Single sign-on goes through Entra ID.", rival: "Single sign-on goes through Okta."},
		{age: 0, claim: "The API gateway rejects bodies over 10 MB."},
		{age: 7, claim: "The Rotterdam site handles all returns for Benelux."},
		{age: 11, claim: "The legal entity was renamed to Nordvik Energi AS."},
		{age: 30, claim: "The factory in Brno works in three shifts."},
		{age: 2, claim: "The design system has its own release cycle."},
		{age: 13, claim: "The archive keeps tax records for ten years."},
		{age: 3, claim: "The payroll run is on the 25th of each month."},
		{age: 6, claim: "The canteen in building C is closed until June."},
		{age: 0, claim: "The production database is PostgreSQL 17."},
		{age: 19, claim: "The fleet consists of 61 electric vans.", rival: "The fleet consists of 55 electric vans."},
		{age: 10, claim: "The Dublin team reports to the London office."},
		{age: 1, claim: "The supplier Ekwall ships on pallets of 48."},
		{age: 5, claim: "The museum shop does not open on Mondays."},
		{age: 8, claim: "The works council meets every second Tuesday."},
		{age: 4, claim: "The laboratory is certified to ISO 17025."},
		{age: 14, claim: "The previous CRM was switched off in December."},
		{age: 26, claim: "The Basel branch speaks French with its suppliers."},
		{age: 2, claim: "The course catalogue has 310 entries."},
		{age: 7, claim: "The night train arrives at platform 5."},
		{age: 0, claim: "The discount for nonprofits is 20 percent.", rival: "The discount for nonprofits is 15 percent."},
		{age: 9, claim: "The cooling tower was replaced last autumn."},
		{age: 12, claim: "The plugin is licensed under Apache 2.0."},
		{age: 3, claim: "The account's billing country is Portugal."},
		{age: 1, claim: "The reading room seats forty."},
		{age: 23, claim: "The satellite office in Tromsø has a 100 Mbit line."},
		{age: 6, claim: "The onboarding takes two weeks for new drivers."},
		{age: 10, claim: "The audit committee has five members."},
		{age: 0, claim: "The webshop went live in Danish."},
		{age: 5, claim: "The clinic uses FHIR R4 for all exchanges."},
		{age: 15, claim: "The harvest forecast is updated every Thursday."},
		{age: 4, claim: "The warranty on the pumps is thirty-six months."},
		{age: 11, claim: "The call centre in Porto handles Spanish as well."},
		{age: 2, claim: "The security review board sits in Ghent."},
		{age: 13, claim: "The tram depot has charging points for twelve cars."},
		{age: 8, claim: "The editorial calendar is kept by the Leipzig team."},
	}
}
