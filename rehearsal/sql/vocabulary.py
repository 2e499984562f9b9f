"""The words that the grammar itself uses, in one spelling each: none of them is a slip of the pen or a stranger."""

_WORDS = """
a above according account across actor adding address addressed affordable after al all along alphabetical
alphabetically already also altogether among amount an and any anybody anyone anything apart appear apr april are
arranged article artist as asc ascending at attend attendance attended aug august author autumn available average
avg balance bare based be been before begin beginning being belong belonging below beside best bestselling between
bigger biggest bill birth birthday book booked booking born borrow borrowed borrower borrowing both bottom bought
branch brand broken buck budget but buy buyer buying by calculate calendar called can cancel cancellation car carry
catalog category charge cheaper cheapest checked checkout city client code combined come coming common commonest
commonly comparison compute consist consumer contain contained containing copy cost costing costliest costly could
count country county created credit currently customer data database date day dearer dearest dec december decreasing
deliver delivered demand department desc descending descendingly destined determine did different digit director
display displaying distinct division do doctor doe does dollar down dozen duration during each earlier earliest ed
either email employee empty end ending enrol enroll enrolled enrolling enrollment enrolment entitled equal euro ever
every everybody everyone exactly exceed exceeding except excluding exemplar exist expensive family far feature feb
february fee fewer fewest file film find fine first for forename four fraction frequent frequently friday from full
genre get give given go going good got greater greatest group grouped had has have having headed heaviest her high
higher highest his hold how hundred i id if in include included including increasing individual ing inside instead
instructor inventory invoice is it item its jan january journey jul july jun june just kind know known lacking
larger largest last later latest least left lend lending length lent less let letter library like limit limited line
list live lived living loan loaned located location longer longest low lower lowest made mail mailed make many mar
march max maximum may me mean member merchandise method min minimum minute missing monday money month more most
movie much multiple my name named nation need neither network never newest no non nor not nothing noun nov november
now null number occur oct october of offer often oldest on once one only onward option or order ordered ordering
other our out outside over overall own owner owning page paid participle patron pay paying payment penalty per
percent percentage person phone place placed player please plus point popular portion possessive possible post
postal postcode precisely predicate press price priced pricier priciest prior product proportion province publisher
pupil purchase purchased purchasing quantity quoted range rank ranked rarest rate rated rating reader reason recent
recently record region rent rental rented renting reservation reserve reserved reserving reside residing result
return revenue review reviewed reviewing right row runtime salary sale saturday see sell selling send sent sep sept
september set share ship shipped shipping shop shopper shortest show showing since single situated sku smaller
smallest so sold some someone something sort sorted spend spending spent split spring staff start starting state
stay still stock store student subject such sum summed summer sunday supplier surname system teacher telephone tell
term than that the their them there these they this those thousand through thursday till time title titled to
together top total totaling totalling town transaction trip tuesday twice type under unique unit unknown until up us
usd use used user using value valued variant various vehicle vendor version vet via visit visited wage want was way
we wednesday well went were what where which who whole whom whose will winter with within without word worker worst
worth would write writer writing written wrote year yet you youngest zero zip
"""
FUNCTION = frozenset(_WORDS.split())
