const LOOK_MS = 500

const row = (...cells) => {
  const line = document.createElement('tr')
  for (const { text, kind = '' } of cells) {
    const cell = document.createElement('td')
    cell.textContent = text
    cell.className = kind
    line.append(cell)
  }
  return line
}
const text = (value) => ({ text: String(value) })
const number = (value) => ({ text: String(value), kind: 'number' })

function show(state) {
  const { stats } = state
  const conflicts = stats.conflicts
    .filter(({ waiter, holder }) => waiter !== holder)
    .reduce((sum, { count }) => sum + count, 0)
  document.querySelector('#numbers').textContent =
    `${state.orders} orders; waits p95 ${Math.round(stats.wait.p95)} ms; ${conflicts} conflicts between the services; ` +
    `${stats.lost} lost leases; locks ${state.locksOn ? 'on' : 'OFF'}. ` +
    state.instances.map(({ name, state }) => (state === 'serving' ? name : `${name} (${state})`)).join(', ')
  document.querySelector('#locks').textContent = state.locksOn ? 'Turn the locks off' : 'Turn the locks on'
  document.querySelector('#accounts').replaceChildren(
    ...state.accounts.map(({ code, stock, sold, oversold }) => {
      const books =
        oversold === 0
          ? { text: 'right', kind: 'good' }
          : { text: `wrong: ${oversold} sold twice`, kind: 'bad' }
      return row(text(code), number(stock), number(sold), number(stock + sold), books)
    }),
  )
  document
    .querySelector('#holders')
    .replaceChildren(
      ...state.holders.map(({ key, instance, context, remainingMs, wanted }) =>
        row(
          text(key),
          text(instance),
          text(context ?? ''),
          number(`${(remainingMs / 1000).toFixed(1)} s`),
          text(wanted ? 'yes' : ''),
        ),
      ),
    )
  document.querySelector('#story').replaceChildren(
    ...state.story.slice(-12).map((line) => {
      const item = document.createElement('li')
      item.textContent = line
      return item
    }),
  )
}

async function look() {
  try {
    show(await (await fetch('state')).json())
  } catch {
    document.querySelector('#numbers').textContent = 'The demonstration has ended.'
  }
  setTimeout(look, LOOK_MS)
}

for (const button of document.querySelectorAll('[data-action]')) {
  button.addEventListener('click', () => void fetch(`do/${button.dataset.action}`, { method: 'POST' }))
}
void look()
