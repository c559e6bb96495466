% What the language has beside Go functions.

once(G) :- call(G), !.
ignore(G) :- call(G), !.
ignore(_).
not(G) :- \+ G.
apply(G, Extra) :- G =.. L0, append(L0, Extra, L1), G2 =.. L1, call(G2).
forall(C, A) :- \+ (C, \+ A).
setup_call_cleanup(S, G, C) :- once(S), call_cleanup(G, C).
aggregate_all(Spec, Discriminator, G, R) :-
    findall(Discriminator-Spec, G, L0), sort(0, @<, L0, L1), '$aggregate_list'(Spec, L1, R).
'$aggregate_list'(Spec, L, R) :- aggregate_all(Spec, member(_-Spec, L), R).

% What is printed are notes of the answer.

with_output_to(Sink, G) :-
    '$capture'(N), catch(( call(G) -> true ; '$captured'(N, _), fail ), E, ( '$captured'(N, _), throw(E) )),
    '$captured'(N, Text), format(Sink, '~w', [Text]).
tab(N) :- M is max(N, 0), format('~*c', [M, 32]).
tab(S, N) :- M is max(N, 0), format(S, '~*c', [M, 32]).
put_char(C) :- must_be(atom, C), write(C).
put_char(S, C) :- must_be(atom, C), write(S, C).
write_term(T, Options) :- ( memberchk(quoted(true), Options) -> writeq(T) ; write(T) ).
write_term(S, T, Options) :- ( memberchk(quoted(true), Options) -> writeq(S, T) ; write(S, T) ).
portray_clause(T) :- \+ \+ ( numbervars(T, 0, _), format('~q.~n', [T]) ).
print_message(_, Message) :- ( nonvar(Message), Message = format(F, Args) -> format(F, Args), nl ; true ).
print_message_lines(_, _, _).
current_output(user_output).
ttyflush.

random(L, U, R) :- ( integer(L), integer(U) -> U1 is U - 1, random_between(L, U1, R) ; random(F), R is L + (U - L) * F ).
random_member(X, L) :- must_be(list, L), length(L, N), N > 0, random_between(1, N, I), nth1(I, L, X).
random_select(X, L, R) :- random_member(Y, L), once(( select(Z, L, R), Z == Y )), X = Y.
random_permutation(L, P) :- must_be(list, L), findall(K-X, ( member(X, L), random(K) ), Ps), keysort(Ps, S), pairs_values(S, P).
gensym(Base, A) :- atom_concat('$gensym_', Base, K), ( catch(nb_getval(K, N0), _, N0 = 0) ), N is N0 + 1, nb_setval(K, N), atom_concat(Base, N, A).
when(Condition, G) :- '$condition'(Condition), '$when'(_, Condition, G).
'$condition'(C) :- ( var(C) -> throw(error(instantiation_error, _)) ; '$is_condition'(C) -> true ; throw(error(domain_error(when_condition, C), _)) ).
'$is_condition'(nonvar(_)).
'$is_condition'(ground(_)).
'$is_condition'(?=(_, _)).
'$is_condition'((A, B)) :- nonvar(A), nonvar(B), '$is_condition'(A), '$is_condition'(B).
'$is_condition'((A ; B)) :- nonvar(A), nonvar(B), '$is_condition'(A), '$is_condition'(B).
'$when'(Woken, Condition, G) :- % it waits for several variables; the first one that has a value wakes it
    ( nonvar(Woken) -> true ; Woken = yes, '$awaited'(Condition, Vs), ( Vs == [] -> call(G) ; '$suspend'(Vs, '$when'(_, Condition, G)) ) ).
'$awaited'(nonvar(X), Vs) :- ( var(X) -> Vs = [X] ; Vs = [] ).
'$awaited'(ground(T), Vs) :- term_variables(T, All), ( All = [V|_] -> Vs = [V] ; Vs = [] ).
'$awaited'(?=(A, B), Vs) :- '$unequal'(A, B, Vs).
'$awaited'((A, B), Vs) :- '$awaited'(A, As), ( As == [] -> '$awaited'(B, Vs) ; Vs = As ).
'$awaited'((A ; B), Vs) :- '$awaited'(A, As), '$awaited'(B, Bs), ( ( As == [] ; Bs == [] ) -> Vs = [] ; append(As, Bs, Vs) ).
reset_gensym :- '$reset_gensym'.
reset_gensym(Base) :- atom_concat('$gensym_', Base, K), nb_setval(K, 0).

phrase(G, L) :- phrase(G, L, []).
phrase(G, L, R) :- must_be(callable, G), must_be(list_or_partial_list, L), must_be(list_or_partial_list, R), '$dcg'(G, S0, S, Goal), S0 = L, S = R, call(Goal).

current_predicate(Name, Head0) :-
    ( nonvar(Head0), Head0 = _:Head -> true ; Head = Head0 ),
    ( nonvar(Head) -> functor(Head, Name, N), current_predicate(Name/N) ; current_predicate(Name/N), functor(Head, Name, N) ).

rdf_transaction(G) :- once(G).
rdf_transaction(G, _) :- once(G).

% Lists.

'$append'(L, S, S0) :- must_be(list_or_partial_list, L), append(L, S, S0).
append([], L, L).
append([H|T], L, [H|R]) :- append(T, L, R).
append(Ls, L) :- must_be(list, Ls), '$flat'(Ls, L).
'$flat'([], []).
'$flat'([L|Ls], R) :- append(L, R0, R), '$flat'(Ls, R0).
prefix([], _).
prefix([E|T0], [E|T]) :- prefix(T0, T).
member(X, [H|T]) :- '$member'(T, X, H).
'$member'(_, X, X).
'$member'([H|T], X, _) :- '$member'(T, X, H).
memberchk(X, L) :- member(X, L), !.
last([H|T], X) :- '$last'(T, H, X).
'$last'([], X, X).
'$last'([H|T], _, X) :- '$last'(T, H, X).
reverse(L, R) :- '$reverse'(L, [], R, R).
'$reverse'([], R, R, []).
'$reverse'([H|T], A, R, [_|Bound]) :- '$reverse'(T, [H|A], R, Bound).
nth0(I, L, E) :- '$nth'(I, 0, L, E).
nth1(I, L, E) :- '$nth'(I, 1, L, E).
'$nth'(I, B, L, E) :- integer(I), !, N is I - B, N >= 0, '$nth_at'(N, L, E).
'$nth'(I, B, L, E) :- var(I), !, L = [H|T], '$nth_any'(T, H, E, B, I).
'$nth'(I, _, _, _) :- must_be(integer, I).
'$nth_at'(0, [E|_], E) :- !.
'$nth_at'(N, [_|T], E) :- N1 is N - 1, '$nth_at'(N1, T, E).
'$nth_any'(_, H, H, B, B).
'$nth_any'([H|T], _, E, B, I) :- B1 is B + 1, '$nth_any'(T, H, E, B1, I).
nth0(I, L, E, R) :- var(I), !, '$nth_gen'(L, E, R, 0, I).
nth0(I, L, E, R) :- must_be(nonneg, I), '$nth_del'(I, L, E, R).
nth1(I, L, E, R) :- var(I), !, '$nth_gen'(L, E, R, 1, I).
nth1(I, L, E, R) :- must_be(positive_integer, I), I0 is I - 1, '$nth_del'(I0, L, E, R).
'$nth_del'(0, [E|R], E, R) :- !.
'$nth_del'(N, [H|T], E, [H|R]) :- N1 is N - 1, '$nth_del'(N1, T, E, R).
'$nth_gen'([E|R], E, R, B, B).
'$nth_gen'([H|T], E, [H|R], B, I) :- B1 is B + 1, '$nth_gen'(T, E, R, B1, I).
select(X, [X|T], T).
select(X, [H|T], [H|R]) :- select(X, T, R).
selectchk(X, L, R) :- select(X, L, R0), !, R = R0.
select(X, Xs, Y, Ys) :- '$select4'(Xs, X, Y, Ys).
'$select4'([X|T], X, Y, [Y|T]).
'$select4'([H|T], X, Y, [H|T2]) :- '$select4'(T, X, Y, T2).
exclude(_, [], []).
exclude(P, [H|T], R) :- ( call(P, H) -> R = R1 ; R = [H|R1] ), exclude(P, T, R1).
include(_, [], []).
include(P, [H|T], R) :- ( call(P, H) -> R = [H|R1] ; R = R1 ), include(P, T, R1).
partition(_, [], [], []).
partition(P, [H|T], I, E) :-
    ( call(P, H) -> I = [H|I1], E = E1 ; I = I1, E = [H|E1] ), partition(P, T, I1, E1).
maplist(G, L) :- '$maplist'(L, G).
'$maplist'([], _).
'$maplist'([A|As], G) :- call(G, A), '$maplist'(As, G).
maplist(G, L1, L2) :- '$maplist'(L1, L2, G).
'$maplist'([], [], _).
'$maplist'([A|As], [B|Bs], G) :- call(G, A, B), '$maplist'(As, Bs, G).
maplist(G, L1, L2, L3) :- '$maplist'(L1, L2, L3, G).
'$maplist'([], [], [], _).
'$maplist'([A|As], [B|Bs], [C|Cs], G) :- call(G, A, B, C), '$maplist'(As, Bs, Cs, G).
maplist(G, L1, L2, L3, L4) :- '$maplist'(L1, L2, L3, L4, G).
'$maplist'([], [], [], [], _).
'$maplist'([A|As], [B|Bs], [C|Cs], [D|Ds], G) :- call(G, A, B, C, D), '$maplist'(As, Bs, Cs, Ds, G).
foldl(G, L, A0, A) :- '$foldl'(L, G, A0, A).
'$foldl'([], _, A, A).
'$foldl'([X|Xs], G, A0, A) :- call(G, X, A0, A1), '$foldl'(Xs, G, A1, A).
foldl(G, L1, L2, A0, A) :- '$foldl'(L1, L2, G, A0, A).
'$foldl'([], [], _, A, A).
'$foldl'([X|Xs], [Y|Ys], G, A0, A) :- call(G, X, Y, A0, A1), '$foldl'(Xs, Ys, G, A1, A).
sum_list(L, S) :- '$sum'(L, 0, S).
sumlist(L, S) :- sum_list(L, S).
'$sum'([], S, S).
'$sum'([H|T], S0, S) :- S1 is S0 + H, '$sum'(T, S1, S).
max_list([H|T], M) :- '$max'(T, H, M).
'$max'([], M, M).
'$max'([H|T], M0, M) :- M1 is max(M0, H), '$max'(T, M1, M).
min_list([H|T], M) :- '$min'(T, H, M).
'$min'([], M, M).
'$min'([H|T], M0, M) :- M1 is min(M0, H), '$min'(T, M1, M).
max_member(M, L) :- '$max_member'(L, M).
'$max_member'([H|T], M) :- foldl('$later', T, H, M).
'$later'(X, M0, M) :- ( X @> M0 -> M = X ; M = M0 ).
min_member(M, [H|T]) :- foldl('$earlier', T, H, M).
'$earlier'(X, M0, M) :- ( X @< M0 -> M = X ; M = M0 ).
delete([], _, []).
delete([H|T], X, R) :- ( H \= X -> R = [H|R1] ; R = R1 ), delete(T, X, R1).
subtract([], _, []) :- !.
subtract([H|T], L, R) :- ( memberchk(H, L) -> R = R1 ; R = [H|R1] ), subtract(T, L, R1).
intersection([], _, []) :- !.
intersection([H|T], L, R) :- ( memberchk(H, L) -> R = [H|R1] ; R = R1 ), intersection(T, L, R1).
union([], L, L) :- !.
union([H|T], L, R) :- ( memberchk(H, L) -> R = R1 ; R = [H|R1] ), union(T, L, R1).
subset([], _) :- !.
subset([H|T], L) :- memberchk(H, L), subset(T, L).
list_to_set(L, S) :- must_be(list, L), '$to_set'(L, [], S).
'$to_set'([], _, []).
'$to_set'([H|T], Seen, R) :- ( '$seen'(H, Seen) -> R = R1 ; R = [H|R1] ), '$to_set'(T, [H|Seen], R1).
'$seen'(X, [Y|T]) :- ( X == Y -> true ; '$seen'(X, T) ).
is_set(L) :- is_list(L), length(L, N), sort(L, S), length(S, N).
list_to_ord_set(L, S) :- sort(L, S).
ord_union(A, B, C) :- append(A, B, L), sort(L, C).
ord_subtract(A, B, C) :- exclude('$ord_in'(B), A, C).
ord_intersection(A, B, C) :- include('$ord_in'(B), A, C).
'$ord_in'(L, X) :- '$seen'(X, L).
ord_memberchk(X, L) :- '$seen'(X, L).
ord_subset(A, B) :- ord_subtract(A, B, []).
flatten(L, F) :- '$flatten'(L, [], F0), !, F = F0.
'$flatten'(V, T, [V|T]) :- var(V), !.
'$flatten'([], T, T) :- !.
'$flatten'([H|R], T, F) :- !, '$flatten'(H, F1, F), '$flatten'(R, T, F1).
'$flatten'(A, T, [A|T]).
pairs_keys_values([], [], []).
pairs_keys_values([K-V|T], [K|Ks], [V|Vs]) :- pairs_keys_values(T, Ks, Vs).
pairs_keys([], []).
pairs_keys([K-_|T], [K|Ks]) :- pairs_keys(T, Ks).
pairs_values([], []).
pairs_values([_-V|T], [V|Vs]) :- pairs_values(T, Vs).
permutation(Xs, Ys) :- '$skel'(Xs, Ys), '$perm'(Xs, Ys).
'$skel'(Xs, Ys) :- ( is_list(Ys), \+ is_list(Xs) -> length(Ys, N), length(Xs, N) ; length(Xs, N), length(Ys, N) ).
'$perm'([], []).
'$perm'(L, [H|T]) :- select(H, L, R), '$perm'(R, T).
same_length([], []).
same_length([_|A], [_|B]) :- same_length(A, B).
predsort(P, L, S) :- length(L, N), '$predsort'(P, N, L, _, S0), !, S = S0.
'$predsort'(P, 2, [X1,X2|L], L, R) :- !, call(P, D, X1, X2), '$sort2'(D, X1, X2, R).
'$predsort'(_, 1, [X|L], L, [X]) :- !.
'$predsort'(_, 0, L, L, []) :- !.
'$predsort'(P, N, L1, L3, R) :-
    N1 is N // 2, plus(N1, N2, N), '$predsort'(P, N1, L1, L2, R1), '$predsort'(P, N2, L2, L3, R2),
    '$predmerge'(P, R1, R2, R).
'$sort2'(<, X1, X2, [X1,X2]).
'$sort2'(=, X1, _, [X1]).
'$sort2'(>, X1, X2, [X2,X1]).
'$predmerge'(_, [], R, R) :- !.
'$predmerge'(_, R, [], R) :- !.
'$predmerge'(P, [H1|T1], [H2|T2], R) :- call(P, D, H1, H2), !, '$predmerge'(D, P, H1, H2, T1, T2, R).
'$predmerge'(<, P, H1, H2, T1, T2, [H1|R]) :- '$predmerge'(P, T1, [H2|T2], R).
'$predmerge'(=, P, H1, _, T1, T2, [H1|R]) :- '$predmerge'(P, T1, T2, R).
'$predmerge'(>, P, H1, H2, T1, T2, [H2|R]) :- '$predmerge'(P, [H1|T1], T2, R).
concat_atom(L, A) :- atomic_list_concat(L, A).
concat_atom(L, S, A) :- atomic_list_concat(L, S, A).

transpose_pairs(Pairs, Transposed) :- pairs_keys_values(Pairs, Ks, Vs), pairs_keys_values(L, Vs, Ks), keysort(L, Transposed).
partition(P, L, Ls, Es, Gs) :- '$partition'(L, P, Ls, Es, Gs).
'$partition'([], _, [], [], []).
'$partition'([H|T], P, L, E, G) :-
    call(P, H, Order),
    ( Order = (<) -> L = [H|L1], E = E1, G = G1 ; Order = (=) -> L = L1, E = [H|E1], G = G1 ; Order = (>), L = L1, E = E1, G = [H|G1] ),
    '$partition'(T, P, L1, E1, G1).
proper_list(L) :- is_list(L).
ord_add_element(S, E, R) :- ord_union(S, [E], R).
ord_del_element(S, E, R) :- ord_subtract(S, [E], R).
subseq([], [], []).
subseq([H|T], S, [H|R]) :- subseq(T, S, R).
subseq([H|T], [H|S], R) :- subseq(T, S, R).
foldl(G, L1, L2, L3, A0, A) :- '$foldl'(L1, L2, L3, G, A0, A).
'$foldl'([], [], [], _, A, A).
'$foldl'([X|Xs], [Y|Ys], [Z|Zs], G, A0, A) :- call(G, X, Y, Z, A0, A1), '$foldl'(Xs, Ys, Zs, G, A1, A).
divmod(A, B, Q, R) :- Q is A div B, R is A mod B.
subsumes_term(General, Specific) :-
    \+ \+ ( term_variables(Specific, Vs), General = Specific, term_variables(Vs, After), After == Vs ).
string_code(I, S, C) :- string_codes(S, Cs), integer(I), I > 0, nth1(I, Cs, C).
sub_atom_icasechk(A, B, S) :- downcase_atom(A, A1), downcase_atom(S, S1), sub_atom(A1, B, _, _, S1), !.
normalize_space(Out, Text) :- split_string(Text, " \t\n", " \t\n", Parts0), exclude(==(""), Parts0, Parts), atomic_list_concat(Parts, ' ', A), format(Out, '~w', [A]).
aggregate(Spec, G, R) :- '$bag_goal'(G, Vars, Goal), '$aggregate'(Spec, Vars, Goal, R).
'$bag_goal'(V, [], V) :- var(V), !.
'$bag_goal'(V^G, [V|Vs], Goal) :- !, '$bag_goal'(G, Vs, Goal).
'$bag_goal'(G, [], G).
'$aggregate'(count, Vs, G, N) :- !, bagof(x, Vs^G, L), length(L, N).
'$aggregate'(Spec, Vs, G, R) :- bagof(Spec, Vs^G, L), aggregate_all(Spec, member(Spec, L), R).

% Solutions in order, each once, or some of them.

distinct(G) :- distinct(G, G).
distinct(W, G) :- findall(W-G, G, L), '$distinct'(L, [], D), member(W-G, D).
'$distinct'([], _, []).
'$distinct'([W-G|T], Seen, R) :- ( '$variant_in'(W, Seen) -> R = R1 ; R = [W-G|R1] ), '$distinct'(T, [W|Seen], R1).
'$variant_in'(W, [X|T]) :- ( W =@= X -> true ; '$variant_in'(W, T) ).
order_by(Specs, G) :- must_be(list, Specs), '$orders'(Specs), findall(G, G, L0), '$order_by'(Specs, G, L0, L), member(G, L).
'$orders'([]).
'$orders'([S|Ss]) :- ( nonvar(S), ( S = asc(_) ; S = desc(_) ) -> true ; must_be(oneof([asc(_), desc(_)]), S) ), '$orders'(Ss).
'$order_by'([], _, L, L).
'$order_by'([Spec|Specs], G, L0, L) :-
    '$order_by'(Specs, G, L0, L1), ( Spec = asc(V) -> Order = (@=<) ; Spec = desc(V), Order = (@>=) ),
    findall(V-G, member(G, L1), K0), sort(1, Order, K0, K1), pairs_values(K1, L).

% Associations: AVL trees t(Key, Value, Balance, Left, Right), the empty one is t.

empty_assoc(t).
is_assoc(A) :- nonvar(A), ( A == t -> true ; A = t(_, _, _, L, R), is_assoc(L), is_assoc(R) ).
get_assoc(K, t(K1, V1, _, L, R), V) :-
    compare(O, K, K1), ( O = (=) -> V = V1 ; O = (<) -> get_assoc(K, L, V) ; get_assoc(K, R, V) ).
put_assoc(K, A, V, B) :- '$put'(A, K, V, B, _).
'$put'(t, K, V, t(K, V, -, t, t), yes).
'$put'(t(K1, V1, B, L, R), K, V, New, Grown) :- compare(O, K, K1), '$put'(O, K, V, K1, V1, B, L, R, New, Grown).
'$put'(=, K, V, _, _, B, L, R, t(K, V, B, L, R), no).
'$put'(<, K, V, K1, V1, B, L, R, New, Grown) :- '$put'(L, K, V, L1, G), '$balance'(G, left, B, K1, V1, L1, R, New, Grown).
'$put'(>, K, V, K1, V1, B, L, R, New, Grown) :- '$put'(R, K, V, R1, G), '$balance'(G, right, B, K1, V1, L, R1, New, Grown).
'$balance'(no, _, B, K, V, L, R, t(K, V, B, L, R), no) :- !.
'$balance'(yes, left, -, K, V, L, R, t(K, V, <, L, R), yes) :- !.
'$balance'(yes, left, >, K, V, L, R, t(K, V, -, L, R), no) :- !.
'$balance'(yes, right, -, K, V, L, R, t(K, V, >, L, R), yes) :- !.
'$balance'(yes, right, <, K, V, L, R, t(K, V, -, L, R), no) :- !.
'$balance'(yes, left, <, K, V, t(K1, V1, <, A, B), R, t(K1, V1, -, A, t(K, V, -, B, R)), no) :- !.
'$balance'(yes, right, >, K, V, L, t(K1, V1, >, A, B), t(K1, V1, -, t(K, V, -, L, A), B), no) :- !.
'$balance'(yes, left, <, K, V, t(K1, V1, >, A, t(K2, V2, B2, B, C)), R, t(K2, V2, -, t(K1, V1, BL, A, B), t(K, V, BR, C, R)), no) :- !, '$halves'(B2, BL, BR).
'$balance'(yes, right, >, K, V, L, t(K1, V1, <, t(K2, V2, B2, A, B), C), t(K2, V2, -, t(K, V, BL, L, A), t(K1, V1, BR, B, C)), no) :- '$halves'(B2, BL, BR).
'$halves'(<, -, >).
'$halves'(>, <, -).
'$halves'(-, -, -).
list_to_assoc(L, A) :-
    foldl('$put_pair', L, t, A), pairs_keys(L, Ks), sort(Ks, Sorted), length(Ks, N),
    ( length(Sorted, N) -> true ; throw(error(domain_error(unique_key_pairs, L), 'a key stands twice in the list')) ).
ord_list_to_assoc(L, A) :- list_to_assoc(L, A).
'$put_pair'(K-V, A, B) :- put_assoc(K, A, V, B).
assoc_to_list(A, L) :- '$assoc_list'(A, L, []).
'$assoc_list'(t, L, L).
'$assoc_list'(t(K, V, _, A, B), L, T) :- '$assoc_list'(A, L, [K-V|M]), '$assoc_list'(B, M, T).
assoc_to_keys(A, Ks) :- assoc_to_list(A, L), pairs_keys(L, Ks).
assoc_to_values(A, Vs) :- assoc_to_list(A, L), pairs_values(L, Vs).
gen_assoc(K, A, V) :- assoc_to_list(A, L), member(K-V, L).
max_assoc(A, K, V) :- assoc_to_list(A, L), last(L, K-V).
min_assoc(A, K, V) :- assoc_to_list(A, [K-V|_]).
del_assoc(K, A, V, B) :- assoc_to_list(A, L0), '$del_key'(L0, K, V, L), list_to_assoc(L, B).
'$del_key'([K1-V1|T], K, V, R) :- ( K1 == K -> V = V1, R = T ; R = [K1-V1|R1], '$del_key'(T, K, V, R1) ).
map_assoc(P, A) :- assoc_to_values(A, Vs), maplist(P, Vs).


% Facts: what the reference has beside the predicates over indexes.

rdf(S, P, O, _) :- rdf(S, P, O).
rdf_update(S, P, O, Action) :-
    must_be(callable, Action),
    ( Action = subject(N) -> New = [N,P,O] ; Action = predicate(N) -> New = [S,N,O] ; Action = object(N) -> New = [S,P,N] ; must_be(oneof([subject(_), predicate(_), object(_)]), Action) ),
    rdf(S, P, O), !, rdf_retractall(S, P, O), New = [S1,P1,O1], rdf_assert(S1, P1, O1).
rdf_has(S, P, O, R) :- rdfs_subproperty_of(R, P), rdf(S, R, O).
rdfs_class_property(Class, Property) :-
    rdfs_individual_of(Property, rdf:'Property'), rdf_has(Property, rdfs:domain, Domain), rdfs_subclass_of(Class, Domain).
rdfs_label(R, Label) :- rdfs_label(R, _, Label).
rdfs_label(R, Lang, Label) :- rdf_has(R, rdfs:label, literal(L)), '$label'(L, Lang, Label).
rdfs_label(R, _, Label) :- nonvar(R), \+ rdf_has(R, rdfs:label, _), rdf_split_url(_, Label, R).
'$label'(lang(Lang, Label), Lang, Label) :- !.
'$label'(type(_, Label), _, Label) :- !.
'$label'(Label, _, Label).
rdfs_ns_label(R, Label) :- rdfs_ns_label(R, _, Label).
rdfs_ns_label(R, Lang, Label) :- rdfs_label(R, Lang, L), rdf_url_namespace(R, NS), !, atomic_list_concat([NS, L], ':', Label).
rdfs_member(E, Set) :- rdfs_individual_of(Set, rdfs:'Container'), !, rdf_has(Set, P, E), '$member_property'(P, _).
rdfs_member(E, List) :- rdfs_list_to_prolog_list(List, L), member(E, L).
'$member_property'(P, N) :-
    rdf_equal(rdf:'_', Prefix), atom_concat(Prefix, A, P), atom_number(A, N), integer(N), N >= 0.
rdfs_container_membership_property(P) :- '$member_property'(P, _).
rdfs_container_membership_property(P, N) :- '$member_property'(P, N).
rdfs_list_to_prolog_list(R, []) :- rdf_equal(R, rdf:nil), !.
rdfs_list_to_prolog_list(R, [H|T]) :- rdf_has(R, rdf:first, H), rdf_has(R, rdf:rest, R2), !, rdfs_list_to_prolog_list(R2, T).
rdf_reachable(S, P, O, Max, D) :-
    ( nonvar(S) -> '$reach'([S-0], [S], forward, P, Max, O, D)
    ; nonvar(O) -> '$reach'([O-0], [O], back, P, Max, S, D)
    ; throw(error(instantiation_error, _)) ).
'$reach'([X-D|_], _, _, _, _, X, D).
'$reach'([X-D|Q], Seen, Way, P, Max, O, N) :-
    ( '$within'(D, Max) -> D1 is D + 1, findall(Y, ( '$reach_step'(Way, X, P, Y), \+ '$seen'(Y, Seen) ), Ys0), sort(Ys0, Ys) ; Ys = [] ),
    '$at_depth'(Ys, D1, New), append(Q, New, Q2), append(Ys, Seen, Seen2), '$reach'(Q2, Seen2, Way, P, Max, O, N).
'$reach_step'(forward, X, P, Y) :- rdf_has(X, P, Y), Y \= literal(_).
'$reach_step'(back, X, P, Y) :- rdf_has(Y, P, X).
'$within'(D, Max) :- ( Max == infinite -> true ; D < Max ).
'$at_depth'([], _, []).
'$at_depth'([Y|Ys], D, [Y-D|R]) :- '$at_depth'(Ys, D, R).
lang_equal(A, B) :- downcase_atom(A, L), downcase_atom(B, L).
lang_matches(Lang, Pattern) :-
    downcase_atom(Lang, L), downcase_atom(Pattern, P),
    ( P == '*' -> true ; L == P -> true ; atom_concat(P, '-', Q), sub_atom(L, 0, _, _, Q) -> true ).

% Descriptions of OWL, as KnowRob writes them.

:- rdf_meta owl_restriction(r, t), owl_description(r, t), owl_satisfies(t, r), owl_same_as(r, r), owl_disjoint_with(r, r),
    owl_has_direct(r, r, o), owl_individual_from_range(r, r), owl_cardinality_on_subject(r, r, t), owl_cardinality_on_class(r, r, t),
    owl_merged_restriction(r, r, t), owl_find(t, t, t, t, r),
    rdf(r, r, o, t), rdf_has(r, r, o, r), rdf_reachable(r, r, o, t, t), rdf_phas(r, r, o),
    rdfs_class_property(r, r), rdfs_label(r, t), rdfs_label(r, t, t), rdfs_ns_label(r, t), rdfs_ns_label(r, t, t), rdfs_member(r, r),
    rdfs_list_to_prolog_list(r, t), class_properties_some(r, r, t), class_properties_all(r, r, t), class_properties_value(r, r, t),
    class_properties_nosup(r, r, t), class_properties_transitive_nosup(r, r, r), rdf_atom_no_ns(r, t), rdf_update(r, r, o, t), rotmat_to_list(r, t), time_term(r, t).

owl_restriction(Node, restriction(P, Facet)) :- rdf_has(Node, owl:onProperty, P), '$facet'(Node, Facet).
'$facet'(Node, Facet) :-
    ( rdf_has(Node, owl:allValuesFrom, C) -> Facet = all_values_from(C)
    ; rdf_has(Node, owl:someValuesFrom, C) -> Facet = some_values_from(C) ).
'$facet'(Node, has_value(V)) :- rdf_has(Node, owl:hasValue, V).
'$facet'(Node, cardinality(Min, Max)) :-
    ( '$bound'(Node, owl:cardinality, N) -> Min = N, Max = N
    ; '$bound'(Node, owl:minCardinality, N) -> Min = N, ( '$bound'(Node, owl:maxCardinality, M) -> Max = M ; Max = inf )
    ; '$bound'(Node, owl:maxCardinality, M) -> Min = 0, Max = M ).
'$bound'(Node, P, N) :- rdf_has(Node, P, literal(L)), !, '$label'(L, _, A), atom_number(A, N), integer(N), N >= 0.

owl_description(Id, Description) :- rdf_equal(Id, Iri), '$description'(Iri, Description).
'$description'(Id, D) :-
    ( rdf_equal(Id, owl:'Thing') -> D = thing
    ; rdf_equal(Id, owl:'Nothing') -> D = nothing
    ; rdf_has(Id, rdf:type, owl:'Restriction') -> owl_restriction(Id, D)
    ; '$class_of'(Id, owl:unionOf, L) -> D = union_of(Ds), '$descriptions'(L, Ds)
    ; '$class_of'(Id, owl:intersectionOf, L) -> D = intersection_of(Ds), '$descriptions'(L, Ds)
    ; '$class_of'(Id, owl:complementOf, C) -> D = complement_of(D1), owl_description(C, D1)
    ; '$class_of'(Id, owl:oneOf, L) -> D = one_of(Is), rdfs_list_to_prolog_list(L, Is)
    ; rdf_has(Id, rdf:type, owl:'Class') -> D = class(Id) ).
'$class_of'(Id, P, O) :- rdf_has(Id, rdf:type, owl:'Class'), rdf_has(Id, P, O), !.
'$descriptions'(List, Ds) :- rdfs_list_to_prolog_list(List, Ids), maplist(owl_description, Ids, Ds).

owl_satisfies(Domain, Resource) :- rdf_equal(Domain, rdfs:'Resource'), !, '$any'(Resource).
owl_satisfies(class(C), Resource) :-
    ( rdf_equal(C, rdfs:'Resource') -> true ; \+ '$any_of_class'(Resource), owl_subclass_of(Resource, C) ).
owl_satisfies(union_of(Ds), Resource) :- member(D, Ds), owl_satisfies(D, Resource).
owl_satisfies(intersection_of(Ds), Resource) :- '$satisfies_all'(Ds, Resource).
owl_satisfies(complement_of(D), Resource) :- '$any'(Resource), \+ '$any_of_class'(Resource), \+ owl_satisfies(D, Resource).
owl_satisfies(one_of(Rs), Resource) :- member(R, Rs), rdf_equal(R, Resource).
owl_satisfies(all_values_from(C), Resource) :-
    ( nonvar(Resource), Resource = individual_of(Sub) -> owl_subclass_of(Sub, C) ; owl_individual_of(Resource, C) ).
owl_satisfies(some_values_from(_), _).
owl_satisfies(has_value(V), Resource) :- rdf_equal(V, Resource).
'$any_of_class'(Resource) :- nonvar(Resource), Resource = individual_of(_).
'$any'(Resource) :- ( var(Resource) -> rdf_subject(Resource) ; true ).
'$satisfies_all'([], _).
'$satisfies_all'([D|Ds], Resource) :- owl_satisfies(D, Resource), '$satisfies_all'(Ds, Resource).

% Classes that are described in the question.

'$individual_of'(X, D) :- ( nonvar(D), '$is_description'(D) -> '$described'(D, X) ; owl_individual_of(X, D) ).
'$is_description'(class(_)).
'$is_description'(union_of(_)).
'$is_description'(intersection_of(_)).
'$is_description'(complement_of(_)).
'$is_description'(one_of(_)).
'$is_description'(restriction(_, _)).
'$described'(class(C), X) :- owl_individual_of(X, C).
'$described'(union_of(Ds), X) :- member(D, Ds), '$individual_of'(X, D).
'$described'(intersection_of([D|Ds]), X) :- '$individual_of'(X, D), '$individual_of_all'(Ds, X).
'$described'(complement_of(D), X) :- '$any'(X), \+ '$individual_of'(X, D).
'$described'(one_of(Is), X) :- member(I, Is), rdf_equal(I, X).
'$described'(restriction(P, F), X) :- rdf_equal(P, Q), '$fulfils'(F, Q, X).
'$individual_of_all'([], _).
'$individual_of_all'([D|Ds], X) :- '$individual_of'(X, D), !, '$individual_of_all'(Ds, X).
'$fulfils'(has_value(V), P, X) :- owl_has(X, P, V).
'$fulfils'(some_values_from(D), P, X) :- owl_has(X, P, V), '$individual_of'(V, D).
'$fulfils'(all_values_from(D), P, X) :-
    findall(Y, ( X = Y, owl_has(Y, P, _) ), Ys0), sort(Ys0, Ys), member(X, Ys), \+ ( owl_has(X, P, V), \+ '$individual_of'(V, D) ).
'$fulfils'(cardinality(Min, Max), P, X) :-
    '$any'(X), findall(V, owl_has(X, P, V), Vs0), sort(Vs0, Vs), length(Vs, N), N >= Min, ( Max == inf -> true ; N =< Max ).
'$subclass_of'(C, class(D)) :- owl_subclass_of(C, D).
'$subclass_of'(C, union_of(Ds)) :- member(D, Ds), owl_subclass_of(C, D).
'$subclass_of'(C, intersection_of([D|Ds])) :- owl_subclass_of(C, D), '$subclass_of_all'(Ds, C).
'$subclass_of'(C, complement_of(D)) :- ( D = class(E) -> true ; E = D ), owl_disjoint_with(C, E).
'$subclass_of'(C, restriction(P, F)) :- owl_restriction_on(C, restriction(P, F)).
'$subclass_of_all'([], _).
'$subclass_of_all'([D|Ds], C) :- owl_subclass_of(C, D), !, '$subclass_of_all'(Ds, C).

owl_cardinality_on_subject(S, P, C) :-
    findall(F, ( rdf_has(S, rdf:type, Class), '$class_cardinality'(Class, P, F) ), Fs), '$tightest'(Fs, C).
owl_cardinality_on_class(Class, P, C) :- findall(F, '$class_cardinality'(Class, P, F), Fs), '$tightest'(Fs, C).
'$class_cardinality'(Class, P, cardinality(Min, Max)) :-
    owl_direct_subclass_of(Class, Node), rdfs_individual_of(Node, owl:'Restriction'),
    rdf_has(Node, owl:onProperty, P), '$facet'(Node, cardinality(Min, Max)).
'$tightest'([C|Cs], Tightest) :- foldl('$tighter', Cs, C, Tightest).
'$tighter'(cardinality(A, B), cardinality(C, D), cardinality(Min, Max)) :-
    Min is max(A, C), ( B == inf -> Max = D ; D == inf -> Max = B ; Max is min(B, D) ).

owl_merged_restriction(Class, P, R) :-
    setof(F, owl_restriction_on(Class, restriction(P, F)), Fs), '$merged'(Fs, Merged), member(R, Merged).
'$merged'([], []).
'$merged'([cardinality(A, B), cardinality(C, D)|Fs], Merged) :-
    !, '$tighter'(cardinality(A, B), cardinality(C, D), F), '$merged'([F|Fs], Merged).
'$merged'([has_value(V)|Fs], Merged) :- !, Fs == [], Merged = [has_value(V)].
'$merged'([F|Fs], [F|Merged]) :- '$merged'(Fs, Merged).
owl_find(Text, Domain, Fields, Method, Subject) :-
    Condition =.. [Method, Text],
    ( var(Fields) -> rdf(Subject, Field, literal(Condition, _)), Fields = [Field]
    ; member(Name, Fields), rdf_equal(Name, Field), '$found'(Field, Method, Text, Condition, Subject) ),
    owl_satisfies(Domain, Subject).
'$found'(resource, Method, Text, _, Subject) :- !, rdf_subject(Subject), rdf_match_label(Method, Text, Subject).
'$found'(Field, _, _, Condition, Subject) :- rdf_has(Subject, Field, literal(Condition, _)).

owl_same_as(X, Y) :- ( var(X) -> X = Y ; X = literal(_) -> X = Y ; '$same'(X, Y, [X]) ). % as the reference: not from Y to X
'$same'(X, X, _).
'$same'(X, Y, Seen) :-
    ( rdf_has(X, owl:sameAs, Z) ; rdf_has(Z, owl:sameAs, X) ), Z \= literal(_), \+ '$seen'(Z, Seen), '$same'(Z, Y, [Z|Seen]).
owl_disjoint_with(A, B) :- owl_subclass_of(A, C), owl_subclass_of(B, D), ( owl_has(C, owl:disjointWith, D) ; owl_has(D, owl:disjointWith, C) ).
owl_disjoint_with(A, B) :-
    A \= B, owl_individual_of(All, owl:'AllDisjointClasses'), owl_has(All, owl:members, List),
    rdfs_member(C, List), owl_subclass_of(A, C), rdfs_member(D, List), owl_subclass_of(B, D). % C may be D, as in the reference
owl_has_direct(S, P, O) :- rdf(S, P, O).
owl_has_direct(S, P, O) :-
    ( nonvar(P) -> true ; rdf_current_predicate(P) ),
    ( rdf_has(P, owl:inverseOf, Q) -> true ; rdf_has(Q, owl:inverseOf, P) ), rdf_has(O, Q, S), S \= literal(_).
owl_has_direct(S, P, O) :- ( nonvar(P) -> true ; rdf_current_predicate(P) ), rdfs_individual_of(P, owl:'SymmetricProperty'), rdf(O, P, S), S \= literal(_).
owl_has_direct(S, P, O) :-
    rdf_has(Node, owl:hasValue, O), rdf_has(Node, owl:onProperty, P), owl_direct_subclass_of(Type, Node), rdf_has(S, rdf:type, Type).
owl_individual_from_range(I, Class) :- rdf_has(P, rdfs:range, Class), rdf_has(_, P, I).
rdf_phas(Property, P, O) :- rdfs_subproperty_of(Property, Super), rdf_has(Super, P, Found), !, O = Found.

class_properties_some(Class, P, V) :- '$at_or_above'(Class, C), '$restricted'(C, P, some_values_from(V)).
class_properties_all(Class, P, V) :- '$at_or_above'(Class, C), '$restricted'(C, P, all_values_from(V)).
class_properties_value(Class, P, V) :- '$at_or_above'(Class, C), '$restricted'(C, P, has_value(V)).
class_properties_nosup(Class, P, V) :- '$restricted'(Class, P, some_values_from(V)) ; '$restricted'(Class, P, has_value(V)).
class_properties_transitive_nosup(Class, P, V) :- class_properties_nosup(Class, P, V).
class_properties_transitive_nosup(Class, P, V) :-
    class_properties_nosup(Class, P, Part), owl_individual_of(P, owl:'TransitiveProperty'), Part \= Class,
    class_properties_transitive_nosup(Part, P, V).
'$at_or_above'(Class, Class).
'$at_or_above'(Class, Super) :- nonvar(Class), owl_subclass_of(Class, Super), Class \= Super.
'$restricted'(Class, P, Facet) :-
    ( nonvar(Class) -> owl_direct_subclass_of(Class, Node) ; Node = Class ),
    ( nonvar(P) -> rdfs_subproperty_of(Sub, P) ; Sub = P ), owl_restriction(Node, restriction(Sub, Facet)).

% What is computed, and time. A goal holds at a time if it has answers in the view of that time,
% and throughout an interval if it has them at its ends and whenever an event of the facts starts
% or ends in between.

:- rdf_meta occurs(r, t), during(r, t), current_object_pose(r, t), object_pose_at_time(r, t, t), object_detection(r, t, t),
    on_Physical(r, r), in_ContGeneric(r, r), comp_above_of(r, r), comp_below_of(r, r), comp_toTheSideOf(r, r), comp_toTheRightOf(r, r),
    comp_toTheLeftOf(r, r), comp_inFrontOf(r, r), comp_inCenterOf(r, r), comp_duration(r, t), comp_temporallySubsumes(r, r), comp_after(r, r),
    comp_equalI(r, r), comp_beforeI(r, r), comp_afterI(r, r), comp_meetsI(r, r), comp_meetsInvI(r, r), comp_overlapsI(r, r),
    comp_overlapsInvI(r, r), comp_startsI(r, r), comp_startsInvI(r, r), comp_duringI(r, r), comp_duringInvI(r, r), comp_finishesI(r, r),
    comp_finishesInvI(r, r), comp_orientation(r, r), storagePlaceFor(r, r), storagePlaceForBecause(r, r, r).

holds(G) :- holds(G, now).
holds(G, T) :- '$goal'(G, Goal), '$holds'(Goal, T).
holds_tt(G, T) :- holds(G, T).
'$goal'(G, Goal) :- ( '$is_property_goal'(G, Goal) -> true ; Goal = G ).
'$holds'(Goal, T) :- var(T), !, '$seconds'(now, T), '$at'(Goal, now).
'$holds'(Goal, [Start, End]) :- !, '$throughout'(Goal, Start, End).
'$holds'(Goal, interval(Start, End)) :- !, '$throughout'(Goal, Start, End).
'$holds'(Goal, T) :- '$at'(Goal, T).
'$throughout'(Goal, Start, End) :- '$at'(Goal, Start), \+ ( '$change_between'(Start, End, T), \+ '$at'(Goal, T) ).
probability(G, P) :- '$goal'(G, Goal), '$probability'(Goal, P).
'$probability'(rdf_triple(R, A, B), P) :- !, '$probable'(R, A, B, P).
'$probability'(holds(G, T), P) :- !, '$goal'(G, Goal), '$at'('$probability'(Goal, P), T).
'$probability'(Goal, 1.0) :- call(Goal).
'$event'(E) :- nonvar(E), !.
'$event'(E) :-
    findall(X, ( rdf_has(X, knowrob:startTime, _) ; rdf_has(X, 'https://engram.dev/ontology#startTime', _) ), Xs), sort(Xs, Es), member(E, Es).
occurs(E) :- occurs(E, now).
occurs(E, T) :- '$event'(E), interval(E, I), ( var(T) -> T = I ; interval(T, J), '$lies_in'(J, I) ).
during(E, I) :- '$event'(E), interval(E, J), ( var(I) -> '$event'(I) ; true ), interval(I, K), '$lies_in'(J, K).
'$lies_in'([A, B], [C, D]) :- C =< A, ( D == inf -> true ; B \== inf, B =< D ).
current_object_pose(Thing, Pose) :- '$pose'(Thing, Pose).
object_pose_at_time(Thing, T, Pose) :- ( var(T) -> '$seconds'(now, T) ; true ), '$at'('$pose'(Thing, Pose), T).
object_detection(Thing, T, Event) :-
    rdf_has(Event, knowrob:objectActedOn, Thing), rdfs_individual_of(Event, knowrob:'MentalEvent'),
    ( var(T) -> true ; '$seconds'(T, At), interval(Event, [Start, _]), Start =< At,
      \+ ( rdf_has(Later, knowrob:objectActedOn, Thing), rdfs_individual_of(Later, knowrob:'MentalEvent'),
           interval(Later, [S, _]), S > Start, S =< At ) ).
on_Physical(A, B) :- rdf_triple(knowrob:'on-Physical', A, B).
in_ContGeneric(A, B) :- rdf_triple(knowrob:'in-ContGeneric', A, B).
comp_above_of(A, B) :- rdf_triple(knowrob:aboveOf, A, B).
comp_below_of(A, B) :- rdf_triple(knowrob:belowOf, A, B).
comp_toTheSideOf(A, B) :- rdf_triple(knowrob:toTheSideOf, A, B).
comp_toTheRightOf(A, B) :- rdf_triple(knowrob:toTheRightOf, A, B).
comp_toTheLeftOf(A, B) :- rdf_triple(knowrob:toTheLeftOf, A, B).
comp_inFrontOf(A, B) :- rdf_triple(knowrob:'inFrontOf-Generally', A, B).
comp_inCenterOf(A, B) :- rdf_triple(knowrob:inCenterOf, A, B).

comp_duration(E, D) :- rdf_triple(knowrob:duration, E, literal(type(_, A))), atom_number(A, D).
comp_temporallySubsumes(A, B) :- rdf_triple(knowrob:temporallySubsumes, A, B).
comp_after(A, B) :- rdf_triple(knowrob:after, A, B).
comp_equalI(A, B) :- rdf_triple(knowrob:equalI, A, B).
comp_beforeI(A, B) :- rdf_triple(knowrob:beforeI, A, B).
comp_afterI(A, B) :- rdf_triple(knowrob:afterI, A, B).
comp_meetsI(A, B) :- rdf_triple(knowrob:meetsI, A, B).
comp_meetsInvI(A, B) :- rdf_triple(knowrob:meetsInvI, A, B).
comp_overlapsI(A, B) :- rdf_triple(knowrob:overlapsI, A, B).
comp_overlapsInvI(A, B) :- rdf_triple(knowrob:overlapsInvI, A, B).
comp_startsI(A, B) :- rdf_triple(knowrob:startsI, A, B).
comp_startsInvI(A, B) :- rdf_triple(knowrob:startsInvI, A, B).
comp_duringI(A, B) :- rdf_triple(knowrob:duringI, A, B).
comp_duringInvI(A, B) :- rdf_triple(knowrob:duringInvI, A, B).
comp_finishesI(A, B) :- rdf_triple(knowrob:finishesI, A, B).
comp_finishesInvI(A, B) :- rdf_triple(knowrob:finishesInvI, A, B).
comp_orientation(Thing, Pose) :-
    rdf_triple(knowrob:orientation, Thing, At),
    ( owl_has(At, knowrob:relativeTo, Of), current_object_pose(Of, M1), rotmat_to_list(At, M0), pose_into_global_coord(M0, M1, M)
    -> rdf_equal(knowrob:rotMat3D, Name), atomic_list_concat([Name|M], '_', Pose) ; Pose = At ).
storagePlaceFor(Place, Thing) :- storagePlaceForBecause(Place, Thing, _).
storagePlaceForBecause(Place, Thing, Kind) :-
    owl_subclass_of(PlaceKind, knowrob:'StorageConstruct'),
    owl_restriction_on(PlaceKind, restriction(knowrob:'typePrimaryFunction-StoragePlaceFor', some_values_from(Kind))),
    ( owl_individual_of(Thing, Kind) ; owl_subclass_of(Thing, Kind) ), owl_individual_of(Place, PlaceKind).

rdf_atom_no_ns(Iri, Name) :- rdf_split_url(_, Name, Iri).
strip_literal_type(T, V) :- ( nonvar(T), T = literal(type(_, V0)) -> V = V0 ; V = T ).
time_term(T, Seconds) :- '$seconds'(T, Seconds).
reduce(G, L, A0, A) :- foldl(G, L, A0, A).
range(N, N, [N]) :- !.
range(M, N, [M|L]) :- ( M < N -> M1 is M + 1 ; M1 is M - 1 ), range(M1, N, L).
zip(A, B, C) :- maplist('$zip', A, B, C).
'$zip'(A, B, [A,B]).
zipm(A, B, C) :- pairs_keys_values(C, A, B).
unifill_list(E, N, L) :- N >= 0, length(L, N), maplist(=(E), L).
lists_equal(A, A).
assoc_extract_value_list(A, Ks, Vs) :- maplist('$value_in'(A), Ks, Vs).
'$value_in'(A, K, V) :- get_assoc(K, A, V).
extract_column(Rows, I, Vs) :- maplist(nth0(I), Rows, Vs).
key_to_index([], _, []).
key_to_index([K|Ks], L, [I|Is]) :- nth0(I, L, K), key_to_index(Ks, L, Is).
rotmat_to_list(Pose, L) :- findall(V, ( member(R, [0,1,2,3]), member(C, [0,1,2,3]), '$cell'(Pose, R, C, V) ), L), length(L, 16).
'$cell'(Pose, R, C, V) :- % the name of a matrix may have its numbers
    atom(Pose), rdf_split_url(_, Local, Pose), atomic_list_concat([Kind|Cells], '_', Local), memberchk(Kind-N, [rotMat3D-4,covMat3D-6]), !,
    R < N, C < N, I is R * N + C, nth0(I, Cells, A), atom_number(A, V).
'$cell'(Pose, R, C, V) :-
    rdf_equal(knowrob:m, M), atomic_list_concat([M, R, C], P), rdf_triple(P, Pose, literal(L)), '$label'(L, _, A), atom_number(A, V), !.

% What KnowRob's comp_spatial, comp_temporal, knowrob_objects and knowrob_perception have beside. docs/knowledge.md names the version.

:- rdf_meta object_dimensions(r, t, t, t), object_color(r, t), object_assert_dimensions(r, t, t, t), object_assert_color(r, t), comp_center(r, t),
    aboveOf(r, r), belowOf(r, r), comp_xCoord(r, t), comp_yCoord(r, t), comp_zCoord(r, t), objectAtPoint2D(r, r), objectAtPoint2D(t, t, r),
    object_pose(r, t, t), object_pose_at_time(r, t, t, t), position_to_list(r, t), quaternion_to_list(r, t), time_point_value(r, t), start_time_value(r, t), end_time_value(r, t),
    create_joint_information(r, r, r, t, t, t, t, t, t), update_joint_information(r, r, t, t, t, t, t), read_joint_information(r, r, r, r, t, t, t, t, t),
    delete_joint_information(r), delete_object_information(r), delete_object_information_recursive(r), instantiate_at_position(r, t, t), update_instance_from_class_def(r, r),
    rdf_instance_from_class(r, t), rdf_instance_from_class(r, t, t), create_object_perception(r, t, t, t), set_object_perception(r, r), set_perception_pose(r, t), set_perception_cov(r, t),
    comp_m00(r, t), comp_m01(r, t), comp_m02(r, t), comp_m03(r, t), comp_m04(r, t), comp_m05(r, t), comp_m10(r, t), comp_m11(r, t), comp_m12(r, t),
    comp_m13(r, t), comp_m14(r, t), comp_m15(r, t), comp_m20(r, t), comp_m21(r, t), comp_m22(r, t), comp_m23(r, t), comp_m24(r, t), comp_m25(r, t),
    comp_m30(r, t), comp_m31(r, t), comp_m32(r, t), comp_m33(r, t), comp_m34(r, t), comp_m35(r, t), comp_m40(r, t), comp_m41(r, t), comp_m42(r, t),
    comp_m43(r, t), comp_m44(r, t), comp_m45(r, t), comp_m50(r, t), comp_m51(r, t), comp_m52(r, t), comp_m53(r, t), comp_m54(r, t), comp_m55(r, t).

aboveOf(Top, Bottom) :- comp_above_of(Top, Bottom).
belowOf(Bottom, Top) :- comp_below_of(Bottom, Top).
objectAtPoint2D(Point, Thing) :- '$coordinate'(knowrob:xCoord, Point, X), '$coordinate'(knowrob:yCoord, Point, Y), objectAtPoint2D(X, Y, Thing).
objectAtPoint2D(X, Y, Thing) :- XN is X, YN is Y, '$covering'(XN, YN, Thing).
'$coordinate'(P, Point, N) :- rdf_has(Point, P, literal(L)), '$number_of'(L, N).
'$coordinate'(P, Point, N) :- \+ rdf_has(Point, P, literal(_)), rdf_equal(P, Iri), rdf_split_url(_, Name, Iri), atom_concat(comp_, Name, G), call(G, Point, N).
comp_center(Thing, Center) :- rdf_triple(knowrob:orientation, Thing, M), rdf_split_url(Base, Local, M), atom_concat(translation_, Local, C), rdf_split_url(Base, C, Center).
comp_xCoord(Point, N) :- '$matrix_of'(Point, M), comp_m03(M, N).
comp_yCoord(Point, N) :- '$matrix_of'(Point, M), comp_m13(M, N).
comp_zCoord(Point, N) :- '$matrix_of'(Point, M), comp_m23(M, N).
'$matrix_of'(Point, M) :- ( atom(Point), rdf_split_url(Base, Local, Point), atom_concat(translation_, Name, Local) -> rdf_split_url(Base, Name, M) ; M = Point ).
comp_m00(Pose, N) :- '$cell'(Pose, 0, 0, N).
comp_m01(Pose, N) :- '$cell'(Pose, 0, 1, N).
comp_m02(Pose, N) :- '$cell'(Pose, 0, 2, N).
comp_m03(Pose, N) :- '$cell'(Pose, 0, 3, N).
comp_m04(Pose, N) :- '$cell'(Pose, 0, 4, N).
comp_m05(Pose, N) :- '$cell'(Pose, 0, 5, N).
comp_m10(Pose, N) :- '$cell'(Pose, 1, 0, N).
comp_m11(Pose, N) :- '$cell'(Pose, 1, 1, N).
comp_m12(Pose, N) :- '$cell'(Pose, 1, 2, N).
comp_m13(Pose, N) :- '$cell'(Pose, 1, 3, N).
comp_m14(Pose, N) :- '$cell'(Pose, 1, 4, N).
comp_m15(Pose, N) :- '$cell'(Pose, 1, 5, N).
comp_m20(Pose, N) :- '$cell'(Pose, 2, 0, N).
comp_m21(Pose, N) :- '$cell'(Pose, 2, 1, N).
comp_m22(Pose, N) :- '$cell'(Pose, 2, 2, N).
comp_m23(Pose, N) :- '$cell'(Pose, 2, 3, N).
comp_m24(Pose, N) :- '$cell'(Pose, 2, 4, N).
comp_m25(Pose, N) :- '$cell'(Pose, 2, 5, N).
comp_m30(Pose, N) :- '$cell'(Pose, 3, 0, N).
comp_m31(Pose, N) :- '$cell'(Pose, 3, 1, N).
comp_m32(Pose, N) :- '$cell'(Pose, 3, 2, N).
comp_m33(Pose, N) :- '$cell'(Pose, 3, 3, N).
comp_m34(Pose, N) :- '$cell'(Pose, 3, 4, N).
comp_m35(Pose, N) :- '$cell'(Pose, 3, 5, N).
comp_m40(Pose, N) :- '$cell'(Pose, 4, 0, N).
comp_m41(Pose, N) :- '$cell'(Pose, 4, 1, N).
comp_m42(Pose, N) :- '$cell'(Pose, 4, 2, N).
comp_m43(Pose, N) :- '$cell'(Pose, 4, 3, N).
comp_m44(Pose, N) :- '$cell'(Pose, 4, 4, N).
comp_m45(Pose, N) :- '$cell'(Pose, 4, 5, N).
comp_m50(Pose, N) :- '$cell'(Pose, 5, 0, N).
comp_m51(Pose, N) :- '$cell'(Pose, 5, 1, N).
comp_m52(Pose, N) :- '$cell'(Pose, 5, 2, N).
comp_m53(Pose, N) :- '$cell'(Pose, 5, 3, N).
comp_m54(Pose, N) :- '$cell'(Pose, 5, 4, N).
comp_m55(Pose, N) :- '$cell'(Pose, 5, 5, N).

time_point_value(T, Seconds) :- '$seconds'(T, Seconds).
start_time_value(Event, Seconds) :- rdf_has(Event, knowrob:startTime, T), '$seconds'(T, Seconds).
end_time_value(Event, Seconds) :- ( rdf_has(Event, knowrob:endTime, T) -> '$seconds'(T, Seconds) ; start_time_value(Event, Seconds) ).
get_timepoint(T) :- '$seconds'(now, Seconds), create_timepoint(Seconds, T).
get_timepoint(Difference, T) :-
    '$seconds'(now, Now), atom_concat(Signed, Unit, Difference), atom_length(Unit, 1), memberchk(Unit-Factor, [s-1,m-60,h-3600]), atom_concat(Sign, Text, Signed), atom_length(Sign, 1),
    atom_number(Text, N), ( Sign == (+) -> Seconds is Now + Factor * N ; Sign == (-), Seconds is Now - Factor * N ), !, create_timepoint(Seconds, T).
create_timepoint(Seconds, T) :- rdf_equal(knowrob:timepoint_, Base), atom_concat(Base, Seconds, T).

object_dimensions(Thing, Depth, Width, Height) :-
    rdf_has(Thing, knowrob:depthOfObject, literal(D)), '$number_of'(D, Depth),
    rdf_has(Thing, knowrob:widthOfObject, literal(W)), '$number_of'(W, Width),
    rdf_has(Thing, knowrob:heightOfObject, literal(H)), '$number_of'(H, Height).
object_dimensions(Thing, Depth, Width, Height) :- '$vector'(Thing, srdl2comp:box_size, [Depth,Width,Height]).
'$number_of'(L, N) :- '$label'(L, _, A), atom_number(A, N).
'$vector'(S, P, Numbers) :-
    rdf_has(S, P, literal(L)), '$label'(L, _, A), split_string(A, " ", " ", Parts0), exclude(==(""), Parts0, Parts), maplist(number_string, Ns, Parts), Numbers = Ns.
object_color(Thing, Colour) :- rdf_has(Thing, knowrob:mainColorOfObject, literal(L)), '$label'(L, _, Colour).
object_assert_dimensions(Thing, Depth, Width, Height) :-
    '$assert_number'(Thing, knowrob:depthOfObject, Depth), '$assert_number'(Thing, knowrob:widthOfObject, Width), '$assert_number'(Thing, knowrob:heightOfObject, Height).
'$assert_number'(S, P, N) :- must_be(number, N), atom_number(A, N), rdf_assert(S, P, literal(type(xsd:float, A))).
object_assert_color(Thing, Colour) :- is_list(Colour), !, ( Colour = [R,G,B] -> All = [R,G,B,1.0] ; All = Colour ), length(All, 4), atomic_list_concat(All, ' ', A), object_assert_color(Thing, A).
object_assert_color(Thing, Colour) :- must_be(atomic, Colour), atom_string(A, Colour), rdf_assert(Thing, knowrob:mainColorOfObject, literal(type(xsd:string, A))).
matrix_translation(Matrix, [X,Y,Z]) :- nth0(3, Matrix, X), nth0(7, Matrix, Y), nth0(11, Matrix, Z).
position_to_list(Pose, Position) :- '$vector'(Pose, knowrob:translation, Position), length(Position, 3).
quaternion_to_list(Pose, Rotation) :- '$vector'(Pose, knowrob:quaternion, Rotation), length(Rotation, 4).
object_pose(Pose, Position, Rotation) :- position_to_list(Pose, Position), quaternion_to_list(Pose, Rotation).
object_pose(Pose, Position, Rotation) :- rotmat_to_list(Pose, M), matrix_rotation(M, Rotation), matrix_translation(M, Position).
object_pose_at_time(Thing, T, Position, Rotation) :- object_pose_at_time(Thing, T, M), matrix_rotation(M, Rotation), matrix_translation(M, Position).
pose_into_global_coord(Pose, Reference, Global) :- '$product'(Pose, Reference, Global). % in this order, as the reference

% What is made and taken away in the question's own graph.

rdf_instance_from_class(Class, Instance) :- rdf_instance_from_class(Class, _, Instance).
rdf_instance_from_class(Class, _, Instance) :- % the graph is not kept
    '$class_iri'(Class, C), '$unused'(C, Instance), rdf_assert(Instance, rdf:type, C).
'$class_iri'(Class, C) :- must_be(atom, Class), ( rdf_split_url('', _, Class) -> rdf_equal(knowrob:'', Base), atom_concat(Base, Class, C) ; C = Class ).
'$unused'(Class, Name) :- repeat, random_between(0x10000000, 0xffffffff, N), format(atom(Name), '~w_~16r', [Class,N]), \+ rdf(Name, _, _), \+ rdf(_, _, Name), !.
rdf_bnode(Node) :- '$unused'('_:node', Node).
rdf_node(Node) :- rdf_bnode(Node).
create_pose(Matrix, Pose) :- rdf_instance_from_class('RotationMatrix3D', Pose), '$assert_cells'(Matrix, 4, Pose).
'$assert_cells'(Numbers, N, S) :-
    must_be(list, Numbers), Cells is N * N, length(Numbers, Cells), rdf_equal(knowrob:m, M),
    forall(nth0(I, Numbers, Number), ( R is I // N, C is I mod N, atomic_list_concat([M,R,C], P), '$assert_number'(S, P, Number) )).
create_perception_instance(Types, Perception) :-
    must_be(list, Types), Types = [First|_], rdf_instance_from_class(First, Perception), rdf_equal(knowrob:'', Base),
    forall(member(T, Types), ( atom_concat(Base, T, C), rdf_assert(Perception, rdf:type, C) )),
    get_timepoint(Now), rdf_assert(Now, rdf:type, knowrob:'TimePoint'), rdf_assert(Perception, knowrob:startTime, Now).
create_perception_instance(Types, Models, Perception) :-
    create_perception_instance(Types, Perception), rdf_equal(knowrob:'', Base),
    forall(member(M, Models), ( atom_concat(Base, M, C), rdf_assert(Perception, knowrob:perceivedUsingModel, C) )).
set_object_perception(Thing, Perception) :-
    ( rdf_has(Thing, knowrob:latestDetectionOfObject, Before)
    -> rdf_update(Thing, knowrob:latestDetectionOfObject, Before, object(Perception)), rdf_assert(Perception, knowrob:previousDetectionOfObject, Before)
    ; rdf_assert(Thing, knowrob:latestDetectionOfObject, Perception) ),
    rdf_assert(Perception, knowrob:objectActedOn, Thing).
set_perception_pose(Perception, Matrix) :- create_pose(Matrix, Pose), rdf_assert(Perception, knowrob:eventOccursAt, Pose).
set_perception_cov(Perception, Numbers) :- rdf_instance_from_class('CovarianceMatrix', C), '$assert_cells'(Numbers, 6, C), rdf_assert(Perception, knowrob:covariance, C).
create_object_perception(Class, Matrix, Types, Thing) :- rdf_instance_from_class(Class, Thing), '$perceive'(Thing, Matrix, Types).
'$perceive'(Thing, Matrix, Types) :- create_perception_instance(Types, Perception), set_object_perception(Thing, Perception), set_perception_pose(Perception, Matrix).

create_joint_information(Type, Parent, Child, Matrix, Direction, Radius, Min, Max, Joint) :-
    create_object_perception(Type, Matrix, ['TouchPerception'], Joint), rdf_assert(Parent, knowrob:properPhysicalParts, Joint),
    rdf_assert(Joint, knowrob:'connectedTo-Rigidly', Child), rdf_assert(Joint, knowrob:'connectedTo-Rigidly', Parent),
    '$limit_joint'(Joint, Min, Max), '$connect'(Type, Parent, Child, Direction, Radius, Joint).
'$limit_joint'(Joint, Min, Max) :- '$assert_number'(Joint, knowrob:minJointValue, Min), '$assert_number'(Joint, knowrob:maxJointValue, Max).
'$connect'(Type, Parent, Child, Direction, Radius, Joint) :-
    ( ( Type == 'PrismaticJoint' ; rdf_equal(Type, knowrob:'PrismaticJoint') )
    -> Direction = [X,Y,Z], rdf_assert(Parent, knowrob:prismaticallyConnectedTo, Child), rdf_instance_from_class('Vector', V),
       '$assert_number'(V, knowrob:vectorX, X), '$assert_number'(V, knowrob:vectorY, Y), '$assert_number'(V, knowrob:vectorZ, Z), rdf_assert(Joint, knowrob:direction, V)
    ; rdf_assert(Parent, knowrob:hingedTo, Child), '$assert_number'(Joint, knowrob:turnRadius, Radius) ).
'$disconnect'(Joint, Parent, Child) :-
    rdf_retractall(Parent, knowrob:prismaticallyConnectedTo, Child), rdf_retractall(Parent, knowrob:hingedTo, Child),
    forall(rdf_has(Joint, knowrob:direction, V), '$forget'(V)), rdf_retractall(Joint, knowrob:turnRadius, _).
'$forget'(Thing) :- rdf_retractall(Thing, _, _), rdf_retractall(_, _, Thing).
'$joins'(Joint, Parent, Child) :-
    rdf_has(Parent, knowrob:properPhysicalParts, Joint), rdf_has(Joint, knowrob:connectedTo, Parent), rdf_has(Joint, knowrob:connectedTo, Child), Child \== Parent.
update_joint_information(Joint, Type, Matrix, Direction, Radius, Min, Max) :-
    '$class_iri'(Type, C), rdf_retractall(Joint, rdf:type, _), rdf_assert(Joint, rdf:type, C), '$perceive'(Joint, Matrix, ['TouchPerception']),
    rdf_retractall(Joint, knowrob:minJointValue, _), rdf_retractall(Joint, knowrob:maxJointValue, _), '$limit_joint'(Joint, Min, Max),
    '$joins'(Joint, Parent, Child), !, '$disconnect'(Joint, Parent, Child), '$connect'(Type, Parent, Child, Direction, Radius, Joint).
read_joint_information(Joint, Type, Parent, Child, Matrix, Direction, Radius, Min, Max) :-
    rdf_has(Joint, rdf:type, Type), '$joins'(Joint, Parent, Child), current_object_pose(Joint, Matrix),
    ( rdf_has(Joint, knowrob:direction, V)
    -> '$number'(V, knowrob:vectorX, X), '$number'(V, knowrob:vectorY, Y), '$number'(V, knowrob:vectorZ, Z), Direction = [X,Y,Z] ; Direction = [] ),
    ( rdf_has(Joint, knowrob:turnRadius, _) -> '$number'(Joint, knowrob:turnRadius, Radius) ; true ),
    '$number'(Joint, knowrob:minJointValue, Min), '$number'(Joint, knowrob:maxJointValue, Max).
'$number'(S, P, N) :- rdf_has(S, P, literal(L)), '$number_of'(L, N).
delete_joint_information(Joint) :- forall('$joins'(Joint, Parent, Child), '$disconnect'(Joint, Parent, Child)), delete_object_information(Joint).
delete_object_information(Thing) :- forall(rdf_has(Perception, knowrob:objectActedOn, Thing), rdf_retractall(Perception, _, _)), '$forget'(Thing).
delete_object_information_recursive(Thing) :-
    forall(( rdf_has(P, knowrob:objectActedOn, Thing), rdf_has(P, knowrob:eventOccursAt, M) ), ( rdf_retractall(P, _, _), rdf_retractall(M, _, _) )),
    findall(C, ( rdf_has(Thing, knowrob:parts, C) ; rdf_has(C, knowrob:describedInMap, Thing) ), Cs0), sort(Cs0, Cs), '$forget'(Thing),
    forall(member(C, Cs), delete_object_information_recursive(C)).

% Things as their class describes them, with their parts: what is known of each class is a list of made(Class, Thing, Matrix).

instantiate_at_position(Class, Matrix, Thing) :-
    create_object_perception(Class, Matrix, ['VisualPerception'], Thing), Made0 = [made(Class, Thing, Matrix)], '$make_parts'(Class, Thing, Made0, Made),
    findall(A-P-B, ( member(made(C, _, _), Made), class_properties_nosup(C, P, D), owl_individual_of(P, owl:'ObjectProperty'),
        \+ rdfs_subproperty_of(P, knowrob:parts), \+ rdfs_subproperty_of(P, knowrob:orientation), rdfs_individual_of(A, C), rdfs_individual_of(B, D) ), Links),
    findall(A-P-V, ( member(made(C, _, _), Made), class_properties(C, P, V), owl_individual_of(P, owl:'DatatypeProperty'), rdfs_individual_of(A, C) ), Values),
    '$assert_all'(Links), '$assert_all'(Values).
'$assert_all'(Links0) :- sort(Links0, Links), forall(member(S-P-O, Links), rdf_assert(S, P, O)).
'$part_of_class'(Class, Part, Pose) :- class_properties_nosup(Class, knowrob:properPhysicalParts, Part), class_properties_nosup(Part, knowrob:orientation, Pose).
'$make_parts'(Class, Thing, Made0, Made) :- findall(Part-Pose, '$part_of_class'(Class, Part, Pose), Ps0), sort(Ps0, Ps), foldl('$make_part'(Thing), Ps, Made0, Made).
'$make_part'(Whole, Class-Pose, Made0, Made) :-
    rotmat_to_list(Pose, M0), ( owl_has(Pose, knowrob:relativeTo, Of), member(made(Of, _, M1), Made0) -> pose_into_global_coord(M0, M1, M) ; M = M0 ),
    create_object_perception(Class, M, ['VisualPerception'], Part), rdf_assert(Whole, knowrob:properPhysicalParts, Part),
    '$make_parts'(Class, Part, [made(Class, Part, M)|Made0], Made).
update_instance_from_class_def(Class, Thing) :-
    '$update_parts'(Class, Thing, [Class-Thing], Known),
    findall(A-P-B, ( member(C-A, Known), class_properties_nosup(C, P, D), owl_individual_of(P, owl:'ObjectProperty'), \+ rdf_equal(P, knowrob:spatiallyRelated),
        '$of_class'(A, C), '$of_class'(B, D), \+ rdf_has(A, P, B) ), Links),
    findall(A-P-V, ( member(C-A, Known), class_properties_nosup(C, P, V), owl_individual_of(P, owl:'DatatypeProperty'), '$of_class'(A, C), \+ rdf_has(A, P, V) ), Values),
    '$assert_all'(Links), '$assert_all'(Values).
'$of_class'(X, C) :- rdfs_individual_of(X, C).
'$of_class'(X, C) :- owl_direct_subclass_of(C, D), rdfs_individual_of(X, D).
'$update_parts'(Class, Thing, Known0, Known) :- findall(Part-Pose, '$part_of_class'(Class, Part, Pose), Ps0), sort(Ps0, Ps), foldl('$update_part'(Thing), Ps, Known0, Known).
'$update_part'(Whole, Class-Pose, Known0, Known) :-
    rotmat_to_list(Pose, M0), ( owl_has(Pose, knowrob:relativeTo, Of), once('$of_class'(Ref, Of)), current_object_pose(Ref, M1) -> pose_into_global_coord(M0, M1, M) ; M = M0 ),
    ( owl_direct_subclass_of(Class, Kind), owl_individual_of(Part, Kind), owl_has(Whole, knowrob:properPhysicalParts, Part) -> '$perceive'(Part, M, ['VisualPerception'])
    ; create_object_perception(Class, M, ['VisualPerception'], Part) ),
    rdf_assert(Whole, knowrob:properPhysicalParts, Part), '$update_parts'(Class, Part, [Class-Part|Known0], Known).
