/*
 * The lock, without the code: what a client believes, what the store knows, and a network that does as it likes. Every
 * order of steps is tried, for a few clients, keys and faults. `npm run model` checks it; docs/proof.md says what that
 * shows and what not.
 *
 * Time goes by in ticks, at any moment, also while a message is under way or a client stands still: no step has a time
 * in which it must happen. So a client that is paused is one that makes no step while time goes on. Each BUG is a
 * mistake that must be found.
 */

#ifndef KEYS
#define KEYS 2
#endif
#ifndef FAULTS
#define FAULTS 3
#endif
/* How often the first client begins; the second does so once. */
#ifndef BIDS
#define BIDS 2
#endif
/* A lease, and another after it. */
#ifndef TICKS
#define TICKS 3
#endif

#define CLIENTS 2
#define LEASE 2
/* What a client's clock may be slow by in a lease, and what it therefore takes off. */
#define DRIFT 1
#ifdef BUG_NO_MARGIN
#define MARGIN 0
#else
#define MARGIN 1
#endif
/* Tokens of one grant, 1024 in holdfast. With writes, what reaches the resource is looked at, too. */
#ifdef WRITES
#define HANDOFFS 2
#else
#define HANDOFFS 1
#endif
/* ---- the store: one atomic step for each call ---- */

typedef Record { byte owner; byte grant; byte until }
Record record[KEYS];

byte now;
/* The store's clock in its finest unit: it has moved on since the last grant. */
byte fine;

/* ---- the network: what is under way ---- */

#define NONE 0
#define ASKED 1
#define ANSWERED 2
#define LOST 3

#define ASK 1
#define RENEW 2
#define RELEASE 3

/* Of each client two at once: the one that it waits for, and one that it has given up and that may arrive yet. */
typedef Call { byte state; byte step; byte key; byte owner; byte grant; bool stray }
Call call[CLIENTS * 2];

/* Writes on their way to the resource of a key: any time later. 0 is none. */
typedef Write { byte key; byte token }
Write write[CLIENTS];
byte highest[KEYS];
/* The greatest that was given out, for the checks only. */
byte minted[KEYS];
byte issued[KEYS];

/* ---- what each client believes ---- */

typedef Belief { bool on; byte key; byte owner; byte grant; byte hand; byte deadline; bool excused }
Belief belief[CLIENTS];

byte faults;
/* The key of the call that is served. */
hidden byte at;

#define BELIEVES(c) (belief[c].on && now < belief[c].deadline)
#define TOKEN(c) (belief[c].grant * HANDOFFS + belief[c].hand)

/* G1, G2: whoever begins to believe is alone, unless the store has forgotten the other, or was told to. */
#define ALONE(c) (!(BELIEVES(c) && BELIEVES(1 - c) && belief[c].key == belief[1 - c].key) || \
  belief[c].excused || belief[1 - c].excused)

/* G3: for a key, the store never gives a number out that is not greater than all before it; and each lease has a greater
   token than all that were known before it, unless two overlap as above and are told in the other order. */
inline issue(c) {
  at = belief[c].key;
  assert(TOKEN(c) > issued[at] || belief[c].excused);
  issued[at] = (TOKEN(c) > issued[at] -> TOKEN(c) : issued[at])
}

inline mint() {
#if defined(BUG_COUNT_ONLY) || defined(BUG_DELETE)
  record[at].grant = record[at].grant + 1;
#else
  fine = fine + 1;
  record[at].grant = (record[at].grant + 1 > fine -> record[at].grant + 1 : fine);
  fine = record[at].grant;
#endif
  assert(record[at].grant > minted[at]);
  minted[at] = record[at].grant
}

#define MINE(i) (record[at].owner == call[i].owner && record[at].until > now)
#define FREE (record[at].owner == 0 || record[at].until <= now)
#ifdef BUG_ANYONE_RELEASES
#define MAY_RELEASE(i) true
#else
#define MAY_RELEASE(i) (record[at].owner == call[i].owner)
#endif

/* What the store does with call `i`, and says. A grant of 0 is a no. */
inline serve(i) {
  at = call[i].key;
  call[i].grant = 0;
  if
  :: call[i].step == ASK && FREE ->
    mint();
    record[at].owner = call[i].owner;
    record[at].until = now + LEASE;
    call[i].grant = record[at].grant
  /* The same owner asks again, since a reply was lost, or renews. */
  :: call[i].step != RELEASE && MINE(i) ->
    record[at].until = now + LEASE;
    call[i].grant = record[at].grant
  :: call[i].step == RELEASE && MAY_RELEASE(i) ->
    record[at].owner = 0;
    record[at].until = 0;
#ifdef BUG_DELETE
    record[at].grant = 0
#endif
  :: else
  fi
}

/* The guard: a token below the highest is refused. What is taken must never go back. */
inline receive(c) {
  at = write[c].key;
  if
#ifdef BUG_NO_GUARD
  :: true ->
#else
  :: write[c].token >= highest[at] ->
#endif
    assert(write[c].token >= highest[at]);
    highest[at] = write[c].token
  :: else
  fi
}

/* The place is free again, and looks like any other that is: else each would be a state of its own. */
inline clear(i) {
  call[i].state = NONE;
  call[i].step = 0;
  call[i].key = 0;
  call[i].owner = 0;
  call[i].grant = 0;
  call[i].stray = false
}

/* A call arrives. Nobody waits for the reply to one that was given up. */
inline arrive(i) {
  serve(i);
  if
  :: call[i].stray -> clear(i)
  :: else -> call[i].state = ANSWERED
  fi
}

/* It does not, or its reply does not: the client can only give it up. */
inline lose(i) {
  faults++;
  if
  :: call[i].stray -> clear(i)
  :: else -> call[i].state = LOST; call[i].grant = 0
  fi
}

inline evict(k) {
  faults++;
  record[k].owner = 0;
  record[k].until = 0;
  for (i : 0 .. CLIENTS - 1) { belief[i].excused = belief[i].excused || belief[i].key == k }
  i = 0
}

/* What may become of a call: it arrives; it does not, or its reply does not; it arrives twice. */
#define FATE(i) \
  :: d_step { call[i].state == ASKED -> arrive(i) } \
  :: d_step { faults < FAULTS && (call[i].state == ASKED || call[i].state == ANSWERED) -> lose(i) } \
  :: d_step { faults < FAULTS && call[i].state == ASKED -> faults++; serve(i); call[i].grant = 0 }

/* ---- the world: time, the store's turn, faults, the resource ---- */

active proctype World() {
  byte i;
  do
  :: now < TICKS -> now++

  /* In whatever order they were sent. */
  FATE(0)
  FATE(1)
  FATE(2)
  FATE(3)

  /* The store forgets everything, or a key is freed by force. Whoever holds then may overlap with the next. */
  :: d_step { faults < FAULTS -> faults++;
      for (i : 0 .. KEYS - 1) { record[i].owner = 0; record[i].grant = 0; record[i].until = 0 }
      for (i : 0 .. CLIENTS - 1) { belief[i].excused = true }
      i = 0 }
  :: d_step { faults < FAULTS && record[0].owner != 0 -> evict(0) }
#if KEYS > 1
  :: d_step { faults < FAULTS && record[1].owner != 0 -> evict(1) }
#endif

#ifdef WRITES
  :: d_step { write[0].token != 0 -> receive(0); write[0].token = 0; write[0].key = 0 }
  :: d_step { write[1].token != 0 -> receive(1); write[1].token = 0; write[1].key = 0 }
#endif
  od
}

/* ---- a client: bids for a key, holds it, gives it back ---- */

inline send(s) {
  sentAt = (s == RELEASE -> 0 : now);
  call[current].state = ASKED;
  call[current].step = s;
  call[current].key = belief[me].key;
  call[current].owner = belief[me].owner;
  call[current].stray = false
}

/* A call whose reply will not come, or does not come soon, is given up. It may yet arrive: the next has another place. */
#define GIVES_UP (call[current].state == LOST || \
  (call[current].state == ASKED && faults < FAULTS && call[other].state == NONE))

inline forget() {
  belief[me].on = false;
  belief[me].grant = 0;
  belief[me].hand = 0;
  belief[me].deadline = 0;
  belief[me].excused = false;
  sentAt = 0;
  until = 0
}

#define other (4 * me + 1 - current)

inline giveUp() {
  d_step {
    if
    :: call[current].state == LOST -> clear(current)
    :: else -> faults++; call[current].stray = true; current = other
    fi;
    sentAt = 0
  }
}

#ifdef BUG_FROM_REPLY
#define COUNTED_FROM now
#else
#define COUNTED_FROM sentAt
#endif

/* By the store's time. The client's own clock may be slow. */
inline confirmed() {
  if
  :: until = COUNTED_FROM + LEASE - MARGIN
  :: until = COUNTED_FROM + LEASE - MARGIN + DRIFT
  fi
}

active [CLIENTS] proctype Client() {
  byte me = _pid - 1, current = 2 * (_pid - 1), sentAt, until, bids;

  /* Between two of the places where it waits nothing else can come: that would be no more than another order of steps
     that know nothing of each other. */
begin:
  atomic {
    if
    :: bids < (me == 0 -> BIDS : 1) ->
      bids++;
      /* What was forgotten or freed before it asks is no excuse for it. */
      belief[me].excused = false;
      belief[me].owner = (me == 0 -> bids : BIDS + 1);
      /* Which key the first one begins with makes no difference. */
      if
      :: belief[me].key = 0
#if KEYS > 1
      :: me != 0 || bids > 1 -> belief[me].key = 1
#endif
      fi
    :: true -> goto end
    fi;
ask:
    send(ASK)
  };
  if
  :: atomic { call[current].state == ANSWERED && call[current].grant != 0 ->
      confirmed();
      d_step {
        belief[me].grant = call[current].grant;
        belief[me].deadline = until;
        /* One that comes when its lease is over is worth nothing. */
        belief[me].on = now < until;
        clear(current);
        sentAt = 0;
        until = 0
      };
      if
      :: belief[me].on -> assert(ALONE(me)); issue(me)
      :: else -> goto leave
      fi }
  :: atomic { call[current].state == ANSWERED && call[current].grant == 0 -> d_step { clear(current); sentAt = 0 };
      if
      :: goto ask
      :: goto leave
      fi }
  :: atomic { GIVES_UP -> giveUp();
      if
      :: goto ask
      :: goto leave
      fi }
  fi;

hold:
  do
  /* Word of the loss comes by the clock of the client, and from nobody else. */
  :: now >= belief[me].deadline -> goto leave

#ifdef WRITES
  /* Looks at `held` and writes. The write may arrive long after. */
  :: d_step { BELIEVES(me) && write[me].token == 0 -> write[me].key = belief[me].key; write[me].token = TOKEN(me) }

  /* The next one in this process. */
  :: atomic { BELIEVES(me) && belief[me].hand + 1 < HANDOFFS ->
#ifndef BUG_SAME_TOKEN
      belief[me].hand++;
#endif
      issue(me) }
#endif

  /* A renewal; meanwhile it works on. */
  :: atomic { call[current].state == NONE && BELIEVES(me) -> send(RENEW) }
  :: atomic { call[current].state == ANSWERED ->
      confirmed();
      d_step {
        if
        :: call[current].grant == 0 -> belief[me].on = false
        :: call[current].grant != 0 && BELIEVES(me) && until > belief[me].deadline -> belief[me].deadline = until
        :: else
        fi;
        clear(current);
        sentAt = 0;
        until = 0
      };
      if
      :: belief[me].on -> assert(ALONE(me))
      :: else -> goto leave
      fi }
  :: GIVES_UP -> giveUp()

  /* Done: from here on it does not believe, whatever becomes of the call. */
  :: call[current].state == NONE -> goto leave

  /* Dies. */
  :: d_step { faults < FAULTS -> faults++; belief[me].on = false }; goto end
  od;

/* Given back, again and again until there is an answer, or nobody cares any more. */
leave:
  atomic {
    forget();
    if
    :: call[current].state == NONE
    /* A renewal is under way: nobody waits for it any more. */
    :: call[current].state == ASKED && call[other].state == NONE -> call[current].stray = true; current = other
    :: call[current].state == ASKED && call[other].state != NONE -> call[current].state != ASKED; clear(current)
    :: call[current].state == ANSWERED || call[current].state == LOST -> clear(current)
    fi;
    send(RELEASE)
  };
  if
  :: atomic { call[current].state == ANSWERED -> clear(current); goto begin }
  :: atomic { GIVES_UP -> giveUp();
      if
      :: goto leave
      :: goto begin
      fi }
  fi;

end:
  atomic { forget(); belief[me].key = 0; belief[me].owner = 0 }
}
