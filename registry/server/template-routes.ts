import type { FastifyInstance } from 'fastify'
import { type Hub, HubError, type Template } from 'pshub'
import { mostTemplates, type TemplateChange, type TemplateList } from '../job-contract.ts'
import { identityOf, rightsOf } from './access.ts'
import { auditOf, whoIs } from './audit.ts'
import { exactArgs } from './body.ts'
import { Fields } from './fields.ts'
import type { Limits } from './limits.ts'
import type { Masked, Masks } from './masks.ts'
import { Refusal } from './refusal.ts'
import { notToBeRun } from './rules.ts'

export interface TemplateRoutesOptions {
  hub: Hub
  limits: Limits
  masks: Masks
}

interface TemplateRequest {
  Params: { '*': string }
}

/** Named arguments of a task, for all: who may look sees them, who may run the task saves and deletes them. */
export const templateRoutes = async (app: FastifyInstance, options: TemplateRoutesOptions): Promise<void> => {
  const { hub, limits, masks } = options
  const audit = auditOf(app, 'template')
  const changing = {
    config: { registryAccess: 'run' as const },
    // Before the body is read.
    onRequest: (request: Parameters<typeof identityOf>[0]) => limits.runs.count(request, identityOf(request).key),
  }

  app.get<TemplateRequest>(
    '/api/templates/*',
    { config: { registryAccess: 'view' } },
    async (request): Promise<TemplateList> => {
      const task = request.params['*']
      if (!rightsOf(request).sees(task)) return { templates: [], most: mostTemplates }
      const [mask, templates] = [await masks.now(task), await told(hub.templates.list(task))]
      return {
        templates: templates.map(template => masked(template, mask.args(task, template.args))),
        most: mostTemplates,
      }
    },
  )

  app.post<TemplateRequest>('/api/templates/*', changing, async (request): Promise<TemplateChange> => {
    const task = request.params['*']
    if (!rightsOf(request).runs(task)) throw notToBeRun(task)
    const fields = new Fields(request.body, ['name', 'args', 'isWhole'])
    const name = fields.neededText('name').trim()
    if (!fields.has('args')) throw new Refusal(400, 'BadRequest', "'args' is missing.")
    const by = whoIs(identityOf(request))
    const template = { name, args: exactArgs(request), isWhole: fields.any('isWhole') !== false, by, atMs: Date.now() }
    if (!(await told(hub.templates.save(task, template))))
      throw new Refusal(409, 'BadRequest', `${task} has ${mostTemplates} templates, the maximum; delete one first.`)
    audit(request, 'template saved', { task, name })
    return { task, name, changed: true }
  })

  app.post<TemplateRequest>('/api/template-removal/*', changing, async (request): Promise<TemplateChange> => {
    const task = request.params['*']
    if (!rightsOf(request).runs(task)) throw notToBeRun(task)
    const name = new Fields(request.body, ['name']).neededText('name')
    const changed = await told(hub.templates.remove(task, name))
    audit(request, 'template deleted', { task, name, changed })
    return { task, name, changed }
  })
}

/** What a program sent may have secrets in it; pages leave them out before they save. */
const masked = (template: Template, { value, isWhole }: Masked): Template =>
  isWhole ? template : { ...template, args: value, isWhole: false }

/** What is no template, or of no task, is a wrong request here and not a call that failed. */
const told = async <T>(asked: Promise<T>): Promise<T> => {
  try {
    return await asked
  } catch (error) {
    if (error instanceof HubError && error.code === 'InvalidArgs') throw new Refusal(400, 'BadRequest', error.message)
    throw error
  }
}
