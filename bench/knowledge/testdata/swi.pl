% Times questions in SWI-Prolog: swipl swi.pl -- JOB FILE…, which prints milliseconds, the median
% of 20 runs, and the number of answers.

:- use_module(library(semweb/rdf_db)).
:- use_module(library(semweb/rdfs)).
:- use_module(library(semweb/rdf_ntriples)).
:- rdf_register_prefix(knowrob, 'http://knowrob.org/kb/knowrob.owl#').

main :-
    current_prolog_flag(argv, [Job|Files]),
    ( getenv('KNOWROB_OWL', Owl) -> use_module(Owl) ; true ),
    ( Job == load -> true ; load(Files) ),
    findall(T-N, ( between(1, 20, _), timed(Job, Files, T, N) ), Runs),
    msort(Runs, Sorted), nth1(10, Sorted, Median-Answers),
    format("~6f ~d~n", [Median, Answers]), halt.

load(Files) :- rdf_reset_db, forall(member(F, Files), rdf_load(F, [silent(true)])).

timed(load, Files, T, N) :- !, get_time(A), load(Files), get_time(B), T is (B - A) * 1000, rdf_statistics(triples(N)).
timed(Job, _, T, N) :-
    get_time(A), findall(x, job(Job), L), get_time(B), T is (B - A) * 1000, length(L, N).

job(seed) :- current_predicate(owl_has/3), !,
    rdf_has(M, rdfs:label, literal(like('*Munich*'), _)), user:owl_has(M, 'http://knowrob.org/kb/knowrob.owl#properPhysicalParts', R),
    user:owl_has(R, 'http://knowrob.org/kb/knowrob.owl#roomNumber', literal(type(_, '3001'))),
    user:owl_has(R, 'http://knowrob.org/kb/knowrob.owl#describedInMap', _).
job(seed) :- % without KnowRob's rules: no inverses, restrictions, sameAs
    rdf_has(M, rdfs:label, literal(like('*Munich*'), _)), rdf_reachable(M, knowrob:properPhysicalParts, R),
    rdf_has(R, knowrob:roomNumber, literal(type(_, '3001'))), rdf_has(R, knowrob:describedInMap, _).
job(containment) :- rdf_subject(W), rdf(W, knowrob:properPhysicalParts, _), rdf_reachable(W, knowrob:properPhysicalParts, P), P \== W.
job(join) :-
    rdf(W, rdf:type, 'http://example.org/world#Kind7'), rdf(W, knowrob:properPhysicalParts, P), rdf(P, rdfs:label, _).

:- initialization(main, main).
